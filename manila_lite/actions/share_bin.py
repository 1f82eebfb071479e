# SPDX-License-Identifier: Apache-2.0
"""The recycle bin. A share in it stays as it is, serves its clients, counts against quota, and is deleted after a time."""

import datetime
from typing import Any

from manila_lite import errors, states
from manila_lite.actions import resource_locks, share_guards
from manila_lite.context import RequestContext
from manila_lite.db.core import database_clock
from manila_lite.db.core.engine import Connection, Row
from manila_lite.db.queries import shares, snapshots
from manila_lite.rpc import notifications

#: Statuses in which a share can be put into the bin, and those in which it is too late to restore it.
_RESTING = ('available', 'error', 'inactive')
_TOO_LATE = frozenset({states.SHARE['delete'].during, states.SHARE['delete'].fail})


def must_be_out(share: Row[Any]) -> None:
    """Refuse a share in the recycle bin: it can only be shown, restored and deleted.

    :raises errors.Forbidden: the share is in the bin.
    """
    if share.is_soft_deleted:
        raise _in_bin(share.id)


def must_be_of_owner(conn: Connection, share: Row[Any]) -> Any:
    """Refuse a share that another project has accepted since it was read. Return it as ``shares.now``.

    To be called after the share's status was changed, or its rows were locked otherwise: then it cannot happen any more.

    :raises errors.NotFound: another project has the share.
    """
    now = shares.now(conn, share.id)
    if now is not None and now.project_id != share.project_id:
        raise errors.NotFound.of('share', share.id)
    return now


def must_be_as_read(conn: Connection, share: Row[Any]) -> None:
    """Do as ``must_be_of_owner``, and refuse a share that has come into the recycle bin since, or has got another size.

    :raises errors.Forbidden: the share is in the bin. :raises errors.WrongState: it has another size.
    """
    now = must_be_of_owner(conn, share)
    if now is None:
        return
    if now.is_soft_deleted:
        raise _in_bin(share.id)
    if now.size != share.size:
        raise errors.WrongState(
            f'Share {share.id} has got another size meanwhile: {now.size} GiB.', code='share_resized'
        )


def _in_bin(share_id: str) -> errors.Forbidden:
    return errors.Forbidden(
        f'Share {share_id} is in the recycle bin (soft deleted); restore it first.', code='share_soft_deleted'
    )


def choose_deletion(
    ctx: RequestContext, resource_type: str, host: str | None, *, force: bool
) -> tuple[str, str]:
    """Return the verb and the operation that delete a share or a snapshot (of a share) at ``host``.

    Deletion is deferred, if so configured, unless the share never had a backend or an administrator forces it.
    """
    if force:
        return 'force_delete', f'{resource_type}.delete'
    if ctx.conf.is_deferred_deletion_enabled and host:
        return 'defer', f'{resource_type}.deferred_delete'
    return 'delete', f'{resource_type}.delete'


def soft_delete(ctx: RequestContext, share_id: str) -> None:
    """Put a share into the recycle bin. It is deleted when its retention time is over.

    :raises errors.WrongState: the share's status does not allow it, or the share is being migrated.
    :raises errors.Forbidden: the share is in the bin already, has snapshots or backups, is in a group, or is locked
        against deletion.
    """
    with ctx.db.writer() as conn:
        share = shares.get(conn, ctx, share_id, own=True)
        if not snapshots.lock_share(conn, share.instance_id, _RESTING):
            raise errors.WrongState(
                f'Share {share_id} is {share.status}; it must be {", ".join(_RESTING)} to be soft deleted.'
            )
        must_be_of_owner(conn, share)
        _must_be_free(conn, ctx, share)
        until = database_clock.time(conn) + datetime.timedelta(
            seconds=ctx.conf.soft_deleted_share_retention_time
        )
        shares.update(conn, share_id, is_soft_deleted=True, scheduled_to_be_deleted_at=until)
    _notify(ctx, 'share.soft_delete', share)


def _must_be_free(conn: Connection, ctx: RequestContext, share: Row[Any]) -> None:
    must_be_out(share)
    share_guards.must_have_no_replicas(conn, share)
    if share.share_group_id:
        raise errors.Forbidden(
            f'Share {share.id} is a member of share group {share.share_group_id}.', code='share_in_group'
        )
    share_guards.must_not_be_migrating(conn, share)
    share_guards.must_have_no_snapshots(conn, share.id)
    share_guards.must_have_no_backups(conn, share.id)
    resource_locks.refuse_if_locked(conn, ctx, share.id, 'be soft deleted')


def restore(ctx: RequestContext, share_id: str) -> bool:
    """Take a share out of the recycle bin. Return whether it was there.

    :raises errors.Forbidden: the share is being deleted already.
    """
    with ctx.db.writer() as conn:
        share = shares.get(conn, ctx, share_id, own=True)
        if not share.is_soft_deleted:
            return False
        if share.status in _TOO_LATE or not snapshots.lock_share(
            conn, share.instance_id, states.SHARE.statuses - _TOO_LATE
        ):
            raise errors.Forbidden(
                f'Share {share_id} is being deleted; it is too late to restore it.', code='share_expired'
            )
        shares.update(conn, share_id, is_soft_deleted=False, scheduled_to_be_deleted_at=None)
    _notify(ctx, 'share.restore', share)
    return True


def _notify(ctx: RequestContext, event: str, share: Row[Any]) -> None:
    notifications.emit(ctx, event, {'share_id': share.id, 'size': share.size, 'owner': share.project_id})
