# SPDX-License-Identifier: Apache-2.0
"""``manila-manage db copy``: the copy of a database into another one, as from SQLite to PostgreSQL."""

import contextlib
import sys
from collections.abc import Iterator, Sequence

from oslo_config import cfg

import manila_lite.conf
from manila_lite import errors
from manila_lite.cmd.manage.command import GOOD, Call, Command, argument, one_of
from manila_lite.cmd.manage.watch import STOPPED, Progress, display, fraction
from manila_lite.db.core import connection_url
from manila_lite.db.core.engine import Connection, Database
from manila_lite.db.maintenance import copy_database, schema_revisions
from manila_lite.host import configured_files, ownership


def copy(call: Call) -> int:
    """Copy all rows of the configured database to another, empty database. First stop every service, also manila-api.

    The schema of the target is created, or exists already without rows. All rows are copied in one transaction: after a failure
    the target has none of them, and the command can be run again. The configured database is only read. Exit status: 0 all rows
    are copied, 1 the copy was refused or failed, 130 Ctrl-C was pressed.
    """
    if schema_revisions.current(call.db) != schema_revisions.head(call.db):
        raise errors.Conflict(
            'the schema of the configured database is not the newest: run "manila-manage db sync" first'
        )
    rows: dict[str, int] = {}
    try:
        with _target(call) as target, copy_database.one_moment(call.db) as source:
            where = copy_database.shown_url(target)
            _refuse(call, source, target)
            copy_database.prepare(target)
            with display() as show:
                rows = copy_database.copy(source, target, lambda step: show.update(_progress(step)))
    except KeyboardInterrupt:
        if not rows:  # else the copy was complete before Ctrl-C
            print('manila-manage: nothing was copied', file=sys.stderr)
            return STOPPED
    print(
        f'{sum(rows.values())} rows of {len(rows)} tables are in {where}. Let [database] connection name that on every host, '
        'and do not start a service on the old one again.'
    )
    return GOOD


@contextlib.contextmanager
def _target(call: Call) -> Iterator[Database]:
    conf = manila_lite.conf.register(cfg.ConfigOpts())
    files = [f'--config-file={call.args.to_config}'] if call.args.to_config else []
    try:
        # environment variables describe the configured database, not the target
        conf(files, project='manila_lite', default_config_files=[], default_config_dirs=[], use_env=False)
        if call.args.to:
            conf.set_override('connection', call.args.to.replace('$', '$$'), 'database')
        named = conf.database.connection
    except (cfg.Error, OSError, ValueError):
        # oslo.config's error would quote the line, which may hold the password
        raise errors.BadConfig(
            f'--to-config: {call.args.to_config} cannot be read as a configuration file; '
            'in it a $ is written as $$'
        ) from None
    if not named:
        raise errors.BadConfig(f'--to-config: {call.args.to_config} has no [database] connection')
    option = '--to' if call.args.to else '--to-config'
    connection_url.check(named, option)
    for file in configured_files.databases(named):
        ownership.check(file, option)
    target = Database(conf, hurried=True)
    try:
        yield target
    finally:
        target.dispose()


def _refuse(call: Call, source: Connection, target: Database) -> None:
    """Refuse a target that is the source, and a source that services still use.

    :raises errors.Conflict: the target is the source, or services are alive.
    """
    if copy_database.same(call.db, target):
        raise errors.Conflict(f'{copy_database.shown_url(target)} is the configured database: name another')
    running = [] if call.args.force else copy_database.alive(source, call.conf.service_down_time)
    if running:
        longest = max(call.conf.service_down_time, call.conf.operations.lease)
        raise errors.Conflict(
            f'{"; ".join(running)}. Stop every manila-api, manila-scheduler and manila-share first. A '
            f'process that was killed counts as running for {longest:g} s. Add --force to copy anyway: '
            'later changes in the old database are lost.'
        )


def _progress(step: copy_database.Step) -> Progress:
    return Progress(
        step.table.replace('_', ' '),
        100 * step.done // step.of,
        f'{fraction(step.done, step.of, "rows")}, {100 * step.all_done // step.all_of} % of all',
    )


COMMANDS: Sequence[Command] = (
    Command(
        'db',
        'copy',
        copy,
        [
            one_of(
                argument(
                    '--to',
                    metavar='URL',
                    help='URL of the target database; other users of this host can see it in the list of processes',
                ),
                argument(
                    '--to-config',
                    metavar='FILE',
                    help='configuration file with the target as [database] connection; for URLs with a password',
                ),
            ),
            argument('--force', action='store_true', help='copy even if services seem to be alive'),
        ],
    ),
)
