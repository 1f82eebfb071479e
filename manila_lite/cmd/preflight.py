# SPDX-License-Identifier: Apache-2.0
"""Checks before a service starts: a login that is refused, or a missing table, is one line, and exit status 1.

A database that is away is, too, since nothing can be done without it: start again. A broker or a Keystone that is away is no
mistake, for the services of a cloud start in any order: work is found by polling, and requests with a token get 503, until it
comes. The log says so, and ``/readiness``.
"""

import logging
from pathlib import Path

from oslo_config import cfg

from manila_lite import errors
from manila_lite.db.core.engine import Database
from manila_lite.db.maintenance import schema_revisions
from manila_lite.rpc import broker

LOG = logging.getLogger(__name__)

_SYNC = 'run "manila-manage db sync"'
#: A table that only the database of the share service has.
OWN = 'shares'


def check(conf: cfg.ConfigOpts) -> None:
    """Check database and broker.

    :raises errors.BadConfig: the schema is not that of this release, or the broker refuses the login. (Or an error of the
        database, which ``setup.run`` knows.)
    """
    check_schema(conf)
    check_broker(conf)


def check_api(conf: cfg.ConfigOpts) -> None:
    """Check the database, the broker and the login of an API. Make the API before: that registers the options of the login.

    :raises errors.BadConfig: as ``check`` does, or Keystone refuses the login.
    """
    check(conf)
    check_tokens(conf)


def reach(conf: cfg.ConfigOpts, migrations: Path | None = None, table: str | None = None) -> str | None:
    """Return the revision of the schema, or None if there is none. Fails within seconds if the database is away.

    ``migrations``: of a sibling; ``table``: one that no other service has, or None, if any database will do.

    :raises errors.BadConfig: the database is that of another service. (Or an error of the database, which ``setup.run`` knows.)
    """
    database = Database(conf, migrations, hurried=True)
    try:
        now = schema_revisions.current(database)
        if now is not None and table is not None and not schema_revisions.has_table(database, table):
            raise errors.BadConfig(
                f'[database] connection: this is the database of another service: it has no table {table}'
            )
        return now
    finally:
        database.dispose()


def check_schema(
    conf: cfg.ConfigOpts, migrations: Path | None = None, table: str = OWN, cure: str = _SYNC
) -> None:
    """Check that the schema is not older than this release. A newer one is right during an upgrade.

    ``migrations`` and ``table``: see ``reach``; ``cure``: what makes the tables of this release.

    :raises errors.BadConfig: it is older, or there is none, or it is that of another service.
    """
    now, known = reach(conf, migrations, table), schema_revisions.revisions(Database(conf, migrations))
    if now is None:
        raise errors.BadConfig(f'[database] connection: the database has no tables yet; {cure}')
    if now in known[:-1]:
        raise errors.BadConfig(
            f'[database] connection: the schema is at revision {now}, and this release needs {known[-1]}; '
            f'{cure}'
        )


def check_broker(conf: cfg.ConfigOpts) -> None:
    """Check that RabbitMQ accepts the login, if it answers. Without TLS only.

    :raises errors.BadConfig: it does not, or not for this virtual host.
    """
    broker.answers(conf)  # if it does not, the service says so itself, and goes on without


def check_tokens(conf: cfg.ConfigOpts) -> None:
    """Check that Keystone, if callers have its tokens, accepts the login with which these are checked.

    :raises errors.BadConfig: it does not.
    """
    if conf.auth_strategy == 'keystone':
        check_login(conf, 'keystone_authtoken', 'requests with a token get 503 until it does')


def check_login(conf: cfg.ConfigOpts, group: str, without: str) -> None:
    """Check that Keystone accepts the login that a section describes. ``without``: what follows while it does not answer.

    :raises errors.BadConfig: it does not, or the section describes none.
    """
    from manila_lite.api.http.login import (
        Login,
    )  # its packages are slow to import, and not for every strategy

    login = Login(conf, group)
    reason = login.failure()
    if reason:
        LOG.warning(
            '[%s] auth_url: Keystone at %s does not answer, and %s: %s',
            login.section,
            login.url,
            without,
            reason,
        )
