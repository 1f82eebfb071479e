# SPDX-License-Identifier: Apache-2.0
"""``manila-manage share_backup``: records of backups whose backend, or whose export, is lost."""

from collections.abc import Sequence
from typing import Any

from manila_lite import context, errors, states
from manila_lite.cmd.manage.command import GOOD, Call, Command, argument
from manila_lite.db.core import transitions
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import hosts, services, share_backups
from manila_lite.db.queries import operations as rows
from manila_lite.workflow import share_backups as backup_workflow

_FORCE = ' Add --force to do it anyway.'
#: Statuses of backups that are of no use to their owners.
_UNWANTED = ('error', 'error_deleting', 'deleting')


def update_host(call: Call) -> int:
    """Assign the backups of a backend to another one, with the deletions that wait for it. The shares stay at their backends.

    Use it for a backend that is lost for good. The new backend must mount the same exports; from then on it deletes the
    backups.
    """
    old, new = call.args.currenthost, call.args.newhost
    if old == new or not (_is_backend(old) and _is_backend(new)):
        raise errors.Invalid('--currenthost and --newhost must be two backends, each as host@backend')
    with call.db.writer() as conn:
        if not call.args.force:
            _check(call, conn, old, new)
        backups, deletions = share_backups.move_deletions(conn, old, new)
    print(
        f'From {old} to {new}: {errors.count(backups, "backup")}, {errors.count(deletions, "waiting deletion")}.'
    )
    return GOOD


def _is_backend(name: str) -> bool:
    host, _, section = name.partition('@')
    return bool(host and section) and '#' not in name


def _check(call: Call, conn: Connection, old: str, new: str) -> None:
    up = {
        row.host: services.is_up(row, call.conf.service_down_time)
        for row in services.list_services(conn, {'binary': 'manila-share'})
    }
    if not up.get(new):
        raise errors.Invalid(
            f'{new} is not up: start its manila-share first, and see "manila-manage host list".{_FORCE}'
        )
    if up.get(old):
        raise errors.Conflict(f'{old} is up: it can delete its backups itself.{_FORCE}')
    if busy := hosts.count_claimed_operations(conn, old):
        raise errors.Conflict(
            f'{errors.count(busy, "operation")} of {old} in progress: wait until the leases end.{_FORCE}'
        )


def delete(call: Call) -> int:
    """Delete the record of a backup. Its data in the export stays there."""
    backup_id, ctx = call.args.backup, context.admin(call.services())
    with call.db.writer() as conn:
        backup = share_backups.find(conn, backup_id)
        if backup is None:
            raise errors.NotFound.of('share backup', backup_id)
        if not call.args.force:
            _refuse(conn, backup)
        _forget(conn, ctx, backup)
    print(
        f'The record of backup {backup_id} is gone. Nothing else was touched: {backup_id} may still be a directory in the '
        f'export of type {backup.backup_type}, or at {backup.host}.'
    )
    return GOOD


def _forget(conn: Connection, ctx: context.RequestContext, backup: Any) -> None:
    backup_workflow.share_ended(conn, ctx, backup)
    backup_workflow.withdraw(conn, ctx, backup)
    rows.supersede(conn, backup.id, share_backups.KINDS)
    if not transitions.remove(conn, states.SHARE_BACKUP, (backup.id,), backup.status):
        raise errors.WrongState(f'backup {backup.id} is no longer {backup.status}: check it again.')


def _refuse(conn: Connection, backup: Any) -> None:
    if backup.status not in _UNWANTED:
        raise errors.WrongState(
            f'backup {backup.id} is {backup.status}: delete it with "openstack share backup delete".{_FORCE}'
        )
    if share_backups.is_claimed(conn, backup.id):
        raise errors.WrongState(
            f'backup {backup.id} has an operation in progress: wait until that has ended.{_FORCE}'
        )


COMMANDS: Sequence[Command] = (
    Command(
        'share_backup',
        'update_host',
        update_host,
        [
            argument(
                '--currenthost',
                required=True,
                metavar='HOST',
                help='backend that made the backups, as host@backend',
            ),
            argument(
                '--newhost', required=True, metavar='HOST', help='backend for their deletion, as host@backend'
            ),
            argument(
                '--force', action='store_true', help='even if the new backend is not up, or the old one is'
            ),
        ],
    ),
    Command(
        'share_backup',
        'delete',
        delete,
        [
            argument('backup', help='id of the backup'),
            argument(
                '--force', action='store_true', help='in any status, even during an operation on the backup'
            ),
        ],
    ),
)
