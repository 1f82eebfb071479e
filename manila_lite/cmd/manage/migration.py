# SPDX-License-Identifier: Apache-2.0
"""``manila-manage migration``: progress of the migration of a share server or a share, and its forced end."""

from collections.abc import Sequence
from typing import Any

from manila_lite import context, errors
from manila_lite.cmd.manage.command import GOOD, Call, Command, argument, seconds
from manila_lite.cmd.manage.watch import Progress, fraction, to_gib, watch
from manila_lite.db.core.engine import Connection
from manila_lite.db.doctor import migrations as migration_rows
from manila_lite.db.queries import operation_views, share_migration, shares
from manila_lite.db.queries import operations as rows
from manila_lite.db.queries import share_server_migration as share_server_migration_queries
from manila_lite.operation_data.migrations import Reached
from manila_lite.states import COMPLETION, Migration
from manila_lite.workflow.migration import Cancelled, Migrations, figures
from manila_lite.workflow.share_migration import SHARES
from manila_lite.workflow.share_server_migration import SERVERS

#: Words for the steps; all other steps are shown as "preparing".
_WORDS = {
    rows.PLACE: 'looking for room',
    'start': 'starting',
    'copy': 'copying',
    'wait': 'ready',
    'catch_up': 'copying the last changes',
    'cut_over': 'cutting over',
    'close': 'closing the former exports',
}
_COMMANDS = {
    share_server_migration_queries.KIND: 'openstack share server migration',
    share_migration.KIND: 'openstack share migration',
}
_MIGRATIONS: dict[str, Migrations[Any]] = {migrations.kind: migrations for migrations in (SERVERS, SHARES)}
_COPIED = ('wait', 'catch_up', 'cut_over', 'close')


def follow(call: Call) -> int:
    """Show the progress of the migration of a share server or of a share until it ends. Nothing is changed.

    A terminal shows a bar; other output gets a line for each change. Exit status: 0 everything has moved, 1 it has not, 130
    Ctrl-C was pressed (the migration continues).
    """
    with call.db.reader() as conn:
        operation_id = _get_newest(conn, call.args.id)

    def read_progress() -> Progress:
        with call.db.reader() as conn:
            op = rows.get(conn, operation_id)
            task_state = (
                migration_rows.task_states_of(conn, [op.resource_id]).get(op.resource_id) if op else None
            )
        if op is None:
            raise errors.NotFound(
                f'The migration of {call.args.id} ended so long ago that its record was deleted.'
            )
        return progress(op, task_state)

    return watch(read_progress, call.args.every)


def _get_newest(conn: Connection, resource_id: str) -> str:
    """Return the id of the newest migration of a share server, of a share, or of the server that a share is on.

    :raises errors.NotFound: there is none.
    """
    migrations = [
        *rows.list_of_resource(conn, resource_id, share_migration.KIND),
        *filter(None, [share_server_migration_queries.last(conn, resource_id)]),
    ]
    if not migrations:
        migrations = [
            op
            for op in [share_server_migration_queries.last(conn, _server_of(conn, resource_id) or '')]
            if op
        ]
    if not migrations:
        raise errors.NotFound(f'There is no migration of a share server or share {resource_id}.')
    return str(max(migrations, key=lambda op: op.created_at).id)


def _server_of(conn: Connection, share_id: str) -> str | None:
    try:
        share = shares.get(conn, context.RequestContext(is_admin=True, overwrite=False), share_id)
    except errors.NotFound:
        return None
    server_id: str | None = share.share_server_id
    return server_id


def progress(op: Any, task_state: str | None) -> Progress:
    """Return the progress of a migration, from its operation's row and the task state of its resource."""
    step = operation_views.phase(op)
    if op.state != rows.OPEN:
        return _ended(op)
    if op.undoing:
        return Progress('going back', hint=op.error or '')
    known = figures(Reached.from_json(op.data), Migration.COPIED if step in _COPIED else Migration.COPYING)
    detail = fraction(to_gib(known['bytes_done']), to_gib(known['bytes_total']), 'GiB')
    hint = ''
    if step == 'wait':
        hint = (
            f'The copy is ready. To cut over: {_COMMANDS[op.kind]} complete {op.resource_id}'
            if task_state in COMPLETION
            else f'It ends when its destination is up: its task state is {task_state}.'
        )
    return Progress(
        _WORDS.get(step, 'preparing'), known['total_progress'], detail, known['seconds_left'], hint
    )


def _ended(op: Any) -> Progress:
    if op.state == rows.DONE:
        return Progress('moved', 100, ended=True)
    if op.state == rows.PARKED:
        return Progress(
            'set aside', hint=f'{op.error or ""} See "manila-manage doctor".'.strip(), ended=False
        )
    if Reached.from_json(op.data).cut:
        return Progress(
            'failed',
            hint=f'{op.error} Everything is kept. To try once more: {_COMMANDS[op.kind]} complete '
            f'{op.resource_id}',
            ended=False,
        )
    if op.error_code == Cancelled.code:
        return Progress('called off', hint='Everything is as before the migration.', ended=False)
    return Progress('failed', hint=f'{op.error} Everything is as before the migration.', ended=False)


def cancel(call: Call) -> int:
    """Cancel a migration without the share manager of its destination, which may be down for ever.

    The share server or share is as before at once. The destination deletes its copy when it is up. A migration whose cut-over
    has begun cannot be cancelled.
    """
    services = call.services()
    with call.db.writer() as conn:
        op = _get_open(conn, call.args.id)
        migrations = _MIGRATIONS[op.kind]
        work = migrations.work(op, context.of_operation(op, services))
        migrations.cancel_by_force(conn, work)
    print(f'The migration of {call.args.id} is cancelled. Its destination deletes the copy when it is up.')
    return GOOD


def _get_open(conn: Connection, resource_id: str) -> Any:
    """Return the operation of a migration that has not ended.

    :raises errors.NotFound: there is none.
    """
    for kind in _MIGRATIONS:
        for op in rows.list_of_resource(conn, resource_id, kind):
            if op.state in (rows.OPEN, rows.PARKED):
                return op
    raise errors.NotFound(f'No migration of a share server or share {resource_id} is in progress.')


COMMANDS: Sequence[Command] = (
    Command(
        'migration',
        'cancel',
        cancel,
        [
            argument('id', metavar='ID', help='id of a share server (the source) or of a share'),
            argument('--force', action='store_true', required=True, help='without the destination; required'),
        ],
    ),
    Command(
        'migration',
        'watch',
        follow,
        [
            argument('id', metavar='ID', help='id of a share server (source or target) or of a share'),
            argument(
                '--every',
                type=seconds,
                default=1.0,
                metavar='SECONDS',
                help='seconds between two updates; default: 1',
            ),
        ],
    ),
)
