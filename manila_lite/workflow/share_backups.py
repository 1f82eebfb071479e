# SPDX-License-Identifier: Apache-2.0
"""Ends of work on backups, at any step."""

from typing import Any

from manila_lite import errors, states
from manila_lite.context import RequestContext
from manila_lite.db.core import transitions
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import access, share_backups
from manila_lite.db.queries import operations as rows
from manila_lite.operation_data.access import ApplyRules
from manila_lite.rpc import notifications
from manila_lite.workflow.access import apply_rules

#: The resource type of backups in user messages.
RESOURCE = 'SHARE_BACKUP'
#: The share's verb while the backup's verb of this name runs.
OF_SHARE = {'create': 'back_up', 'restore': 'take_back'}
_KINDS = (share_backups.CREATE, share_backups.RESTORE)


def abandon(conn: Connection, ctx: RequestContext, share_id: str) -> None:
    """End all copying between the share and its backups, and set these backups to the failed status."""
    for backup in share_backups.list_copying(conn, share_id):
        rows.supersede(conn, backup.id, _KINDS)
        for verb in OF_SHARE:
            transitions.fail(conn, states.SHARE_BACKUP, verb, backup.id)
        withdraw(conn, ctx, backup)


def share_ended(conn: Connection, ctx: RequestContext, backup: Any, *, worked: bool = False) -> None:
    """End the share's status for the work that is under way with a backup (its row): as failed unless it ``worked``."""
    verb = next((verb for verb in OF_SHARE if states.SHARE_BACKUP[verb].during == backup.status), None)
    if verb is None:
        return
    share_id = backup.share_id if verb == 'create' else backup.target_share_id
    instance = share_backups.instance_of(conn, share_id)
    if instance is not None:
        end = transitions.finish if worked else transitions.fail
        end(conn, states.SHARE, OF_SHARE[verb], instance.id)
        withdraw(conn, ctx, backup)


def let_in(
    conn: Connection, ctx: RequestContext, backup_id: str, share_id: str, host: str, address: str
) -> None:
    """Have the backend ``host`` admit the address, and no other, as long as the copy to or from the backup runs.

    The share's rules are locked (``access.lock``).
    """
    share_backups.update(conn, backup_id, copy_client=address)
    apply_rules(conn, ctx, share_id, host)


def shut_out(
    conn: Connection, ctx: RequestContext, share_id: str, host: str, owner: str | None = None
) -> None:
    """Have the backend ``host`` withdraw the access of a copy that has ended, which ``access.in_force`` lists no more."""
    access.lock(conn, share_id)
    apply_rules(conn, ctx, share_id, host, data=ApplyRules(quiet=True), owner=owner)


def withdraw(conn: Connection, ctx: RequestContext, backup: Any) -> None:
    """Have the access of the client that copied to or from a backup (its row) withdrawn, if it still has access."""
    share_id = backup.target_share_id or backup.share_id
    instance = share_backups.instance_of(conn, share_id) if backup.copy_client else None
    if instance is not None and instance.host:
        shut_out(conn, ctx, share_id, instance.host, backup.project_id)


def announce(
    ctx: Any, backup: Any, event: str, host: str | None = None, error: Exception | None = None
) -> None:
    """Emit a notification about a backup (its row)."""
    payload = {
        'backup_id': backup.id,
        'share_id': backup.share_id,
        'target_share_id': backup.target_share_id,
        'size': backup.size,
        'backup_type': backup.backup_type,
        'owner': backup.project_id,
    }
    if error is not None:
        payload['error'] = errors.reason(error, ctx.request_id)
    notifications.emit(ctx, f'share_backup.{event}', payload, host)
