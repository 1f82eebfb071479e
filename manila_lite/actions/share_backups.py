# SPDX-License-Identifier: Apache-2.0
"""Actions on share backups: copies of a share's data in a place that the operator configures, and their restore."""

from collections.abc import Mapping
from typing import Any

from oslo_utils import uuidutils

from manila_lite import engine, errors, states
from manila_lite.actions import owners, resource_locks, share_bin, share_group_membership, share_guards
from manila_lite.context import RequestContext
from manila_lite.db.core import transitions
from manila_lite.db.core.engine import Connection, Row
from manila_lite.db.queries import operations as rows
from manila_lite.db.queries import quotas, share_backups, shares, snapshots
from manila_lite.operation_data.share_backups import CopyBackup
from manila_lite.workflow import share_backups as backup_workflow

_SHARE, _BACKUP = states.SHARE, states.SHARE_BACKUP
#: The only backup option of Manila that is not specific to a driver.
_TYPE = 'backup_type'


def create(ctx: RequestContext, wanted: Mapping[str, Any]) -> Row[Any]:
    """Begin a backup in ``creating``; its share is in ``backup_creating`` until it is done. Return the backup's row.

    ``wanted``: share_id, and any of name, description, backup_options (backup_type).

    :raises errors.Invalid: there is no such share, or no such type of backup, or the share has snapshots.
    :raises errors.WrongState: the share is not available.
    :raises errors.Conflict: the share has replicas.
    :raises errors.OverQuota: see ``db/queries/quotas.py``.
    """
    backup_id, backup_type = uuidutils.generate_uuid(), _type(ctx, wanted.get('backup_options') or {})
    with ctx.db.writer() as conn:
        share = _share(conn, ctx, 'share_id', wanted['share_id'])
        _begin_copy(conn, share, 'back_up')
        _must_have_no_snapshots(conn, share.id)
        owner = owners.of_part(ctx, share)
        quotas.check(conn, ctx.conf, *owner, None, {'backups': 1, 'backup_gigabytes': share.size})
        transitions.create(
            conn,
            states.SHARE_BACKUP,
            {
                'id': backup_id,
                'share_id': share.id,
                **owner._asdict(),
                'size': share.size,
                'name': wanted.get('name'),
                'description': wanted.get('description'),
                'backup_type': backup_type,
                'host': engine.backend_of(share.host),
                'availability_zone': share.availability_zone,
                'progress': '0',
                'restore_progress': '0',
            },
        )
        _begin(conn, ctx, share_backups.CREATE, backup_id, share)
        row = share_backups.get(conn, ctx, backup_id)
    backup_workflow.announce(ctx, row, 'create.start')
    return row


def _type(ctx: RequestContext, options: Mapping[str, Any]) -> str:
    known = ctx.conf.enabled_backup_types
    if not known:
        raise errors.Conflict(
            'Backups are not available: no type of backup is configured.', code='backups_not_configured'
        )
    wanted = options.get(_TYPE) or known[0]
    if wanted not in known:
        raise errors.Invalid(f'backup_options: {_TYPE} must be one of {", ".join(known)}.')
    return str(wanted)


def _share(conn: Connection, ctx: RequestContext, field: str, share_id: str) -> Row[Any]:
    with errors.in_request(field):
        share = shares.get(conn, ctx, share_id, own=True)
    share_bin.must_be_out(share)
    return share


def _begin_copy(conn: Connection, share: Row[Any], verb: str) -> None:
    """Begin the verb on the share, and refuse a share that cannot be backed up or restored."""
    transitions.begin(conn, _SHARE, verb, share.instance_id)
    share_bin.must_be_as_read(conn, share)
    share_guards.must_have_no_replicas(conn, share)
    share_group_membership.must_have_settled_group(conn, share)
    share_guards.must_be_placed(share)


def _must_have_no_snapshots(conn: Connection, share_id: str) -> None:
    """Refuse a share with snapshots, as Manila does: no backup holds them."""
    if count := snapshots.count_of(conn, share_id, seen=True):
        raise errors.Invalid(
            f'Share {share_id} has {errors.count(count, "snapshot")}, which no backup would hold; '
            f'delete {errors.them(count)} first.',
            code='share_has_snapshots',
        )


def _begin(conn: Connection, ctx: RequestContext, kind: str, backup_id: str, share: Row[Any]) -> None:
    engine.begin(
        conn,
        ctx,
        kind,
        'share_backup',
        backup_id,
        topic='share',
        host=share.host,
        mutex_key=share.instance_id,
        unique_key=f'backup:{backup_id}',
        data=CopyBackup(share_id=share.id),
        owner=share.project_id,
    )


def restore(ctx: RequestContext, backup_id: str, target_id: str | None = None) -> Row[Any]:
    """Begin to restore a backup, in ``restoring``. Return its row.

    The target is the backup's own share, or ``target_id``. It is in ``backup_restoring`` until it holds the backup's
    data.

    :raises errors.Invalid: there is no such share.
    :raises errors.WrongState: the status of the backup or the share does not allow it.
    :raises errors.Conflict: the share is too small, has replicas, or is locked.
    """
    with ctx.db.writer() as conn:
        backup = share_backups.get(conn, ctx, backup_id)
        share = _share(conn, ctx, 'restore', target_id or backup.share_id)
        _begin_copy(conn, share, 'take_back')
        backup_workflow.withdraw(conn, ctx, backup)
        transitions.begin(
            conn,
            _BACKUP,
            'restore',
            backup_id,
            target_share_id=share.id,
            restore_progress='0',
            copy_client=None,
        )
        if share.size < backup.size:
            raise errors.Conflict(
                f'Share {share.id} has {share.size} GiB, but backup {backup_id} needs {backup.size} GiB; '
                'extend the share first.',
                code='share_too_small',
            )
        resource_locks.refuse_overwriting(conn, ctx, share.id)
        _begin(conn, ctx, share_backups.RESTORE, backup_id, share)
        row = share_backups.get(conn, ctx, backup_id)
    backup_workflow.announce(ctx, row, 'restore.start')
    return row


def update(ctx: RequestContext, backup_id: str, values: Mapping[str, Any]) -> Row[Any]:
    """Change a backup's name or description. Return its row."""
    with ctx.db.writer() as conn:
        share_backups.get(conn, ctx, backup_id)
        share_backups.update(conn, backup_id, **values)
        return share_backups.get(conn, ctx, backup_id)


def delete(ctx: RequestContext, backup_id: str) -> None:
    """Begin to delete a backup, in ``deleting``. It counts against quota until it is gone.

    :raises errors.WrongState: the backup's status does not allow it.
    """
    with ctx.db.writer() as conn:
        row = share_backups.get(conn, ctx, backup_id)
        transitions.begin(conn, _BACKUP, 'delete', backup_id)
        engine.begin(
            conn,
            ctx,
            share_backups.DELETE,
            'share_backup',
            backup_id,
            topic='share',
            host=row.host,
            mutex_key=backup_id,
            unique_key=f'backup:{backup_id}',
            owner=row.project_id,
        )
    backup_workflow.announce(ctx, row, 'delete.start')


def reset_status(ctx: RequestContext, backup_id: str, status: str) -> None:
    """Set a backup's status. Its open operations end, and its share shows that the work failed."""
    with ctx.db.writer() as conn:
        row = share_backups.get(conn, ctx, backup_id)
        backup_workflow.share_ended(conn, ctx, row)
        rows.supersede(conn, backup_id, share_backups.KINDS)
        transitions.reset(conn, _BACKUP, backup_id, status)
        if status in (_BACKUP['create'].during, _BACKUP['restore'].during):
            # No worker copies, even if the new status means a copy.
            share_backups.update(conn, backup_id, copy_client=None)
