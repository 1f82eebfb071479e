# SPDX-License-Identifier: Apache-2.0
"""Checks before a service starts: a database or a broker that it cannot use is one line, and exit status 1.

A broker that is away is no mistake: work is found by polling until it comes.
"""

import logging
from pathlib import Path

import amqp.exceptions
import kombu
import oslo_messaging
from oslo_config import cfg

from manila_lite import errors
from manila_lite.db.core.engine import Database
from manila_lite.db.maintenance import schema_migrations

_SYNC = 'run "manila-manage db sync"'
#: Seconds for which a broker has time to answer.
_PATIENCE = 5


def check(conf: cfg.ConfigOpts) -> None:
    """Check database and broker.

    :raises errors.BadConfig: the schema is not that of this release, or the broker refuses the login. (Or an error of the
        database, which ``setup.run`` knows.)
    """
    check_schema(conf)
    check_broker(conf)


def reach(conf: cfg.ConfigOpts, migrations: Path | None = None) -> str | None:
    """Return the revision of the schema, or None if there is none. Fails within seconds if the database is away."""
    logging.getLogger('alembic').setLevel(logging.WARNING)      # it logs a line at each look at the schema
    database = Database(conf, migrations, hurried=True)
    try:
        return schema_migrations.current(database)
    finally:
        database.dispose()


def check_schema(conf: cfg.ConfigOpts) -> None:
    """Check that the schema is not older than this release. A newer one is right during an upgrade.

    :raises errors.BadConfig: it is older, or there is none.
    """
    now, known = reach(conf), schema_migrations.revisions(Database(conf))
    if now is None:
        raise errors.BadConfig(f'[database] connection: the database has no tables yet; {_SYNC}')
    if now in known[:-1]:
        raise errors.BadConfig(f'[database] connection: the schema is at revision {now}, and this release needs {known[-1]}; '
                               f'{_SYNC}')


def check_broker(conf: cfg.ConfigOpts) -> None:
    """Check that RabbitMQ accepts the login, if it answers. Without TLS only: its options are those of the driver.

    :raises errors.BadConfig: it does not, or not for this virtual host.
    """
    url = oslo_messaging.TransportURL.parse(conf)
    if not url.transport.endswith('rabbit') or conf.oslo_messaging_rabbit.ssl:
        return
    for host in url.hosts:
        broker = kombu.Connection(hostname=host.hostname, port=host.port or 5672, userid=host.username or 'guest',
                                  password=host.password or 'guest', virtual_host=url.virtual_host or '/', transport='pyamqp',
                                  connect_timeout=_PATIENCE)
        where = f'transport_url: the broker on {host.hostname}:{host.port or 5672}'
        try:
            with broker:
                broker.connect()
        except amqp.exceptions.AccessRefused:
            raise errors.BadConfig(f'{where} refuses the login of user {host.username!r}: wrong name or password') from None
        except amqp.exceptions.NotAllowed:
            raise errors.BadConfig(f'{where} refuses user {host.username!r} the virtual host {url.virtual_host or "/"!r}, or '
                                   'has none of that name') from None
        except OSError:
            continue        # the service says so itself, and goes on without
