# SPDX-License-Identifier: Apache-2.0
"""The recycle bin: a share in it is as it was, serves its clients, counts against quota, and is deleted after a while."""

import datetime
from typing import Any

from oslo_utils import timeutils

from manila_lite import errors, states
from manila_lite.actions import locks
from manila_lite.context import RequestContext
from manila_lite.db import replicas, share_backups, share_migrations, shares, snapshots
from manila_lite.rpc import notices

#: The statuses from which a share comes into the bin, and those in which it is too late to take it out.
_RESTING = ('available', 'error', 'inactive')
_TOO_LATE = frozenset({states.SHARE['delete'].during, states.SHARE['delete'].fail})


def must_be_out(share: Any) -> None:
    """The share is not in the recycle bin, where it can only be looked at, restored and deleted.

    :raises errors.Forbidden: it is.
    """
    if share.is_soft_deleted:
        raise _in_bin(share.id)


def must_still_be_out(conn: Any, ident: str) -> None:
    """As ``must_be_out``, of what is there now: to be called once the share's status was changed, or its rows were locked
    otherwise, so that it cannot come into the bin any more.
    """
    if shares.is_in_bin(conn, ident):
        raise _in_bin(ident)


def must_have_no_replicas(conn: Any, share: Any) -> None:
    """There are no replicas beside the active one: to be called once the share's status was changed, or is held.

    :raises errors.Conflict: there are.
    """
    if share.replication_type and (count := replicas.count_of(conn, share.id)):
        raise errors.Conflict(f'Share {share.id} has {count} replicas beside the active one; delete them first.',
                              code='share_has_replicas')


def must_have_no_backups(conn: Any, ident: str) -> None:
    """Nothing is kept of the share that would be nobody's without it: to be called as ``must_have_no_replicas``.

    :raises errors.Forbidden: there are backups.
    """
    if count := share_backups.count_of(conn, ident):
        raise errors.Forbidden(f'Share {ident} has {count} backups; delete them first.', code='share_has_backups')


def _in_bin(ident: str) -> errors.Forbidden:
    return errors.Forbidden(f'Share {ident} is in the recycle bin (soft deleted); restore it first.', code='share_soft_deleted')


def way_out(ctx: RequestContext, noun: str, host: str | None, *, force: bool) -> tuple[str, str]:
    """Return the verb and the operation by which a share or snapshot (of a share) at ``host`` is deleted: deferred, if so
    configured, unless it never had a backend or an administrator forces it.
    """
    if force:
        return 'force_delete', f'{noun}.delete'
    if ctx.conf.is_deferred_deletion_enabled and host:
        return 'defer', f'{noun}.deferred_delete'
    return 'delete', f'{noun}.delete'


def soft_delete(ctx: RequestContext, ident: str) -> None:
    """The share is in the recycle bin, and will be deleted when its time there is over.

    :raises errors.WrongState: it is in no status for that, or is being moved.
    :raises errors.Forbidden: it is there already, has snapshots, is a member of a group, or is locked against deletion.
    """
    with ctx.db.writer() as conn:
        share = shares.get(conn, ctx, ident, own=True)
        if not snapshots.hold_share(conn, share.instance_id, _RESTING):
            raise errors.WrongState(f'Share {ident} is {share.status}; it must be {", ".join(_RESTING)} to be soft deleted.')
        _must_be_free(conn, ctx, share)
        until = timeutils.utcnow() + datetime.timedelta(seconds=ctx.conf.soft_deleted_share_retention_time)
        shares.update(conn, ident, is_soft_deleted=True, scheduled_to_be_deleted_at=until)
    _tell(ctx, 'share.soft_delete', share)


def _must_be_free(conn: Any, ctx: RequestContext, share: Any) -> None:
    must_be_out(share)
    must_have_no_replicas(conn, share)
    if share.share_group_id:
        raise errors.Forbidden(f'Share {share.id} is a member of share group {share.share_group_id}.', code='share_in_group')
    if share_migrations.is_going_on(conn, share.id):
        raise errors.WrongState(f'Share {share.id} is being moved to another backend; cancel that first.')
    count = snapshots.count_of(conn, share.id, seen=True)
    if count:
        raise errors.Forbidden(f'Share {share.id} has {count} snapshots; delete them first.', code='share_has_snapshots')
    must_have_no_backups(conn, share.id)
    locks.refuse_if_locked(conn, ctx, share.id, 'be soft deleted')


def restore(ctx: RequestContext, ident: str) -> bool:
    """The share is not in the recycle bin; says whether it was.

    :raises errors.Forbidden: it is being deleted already.
    """
    with ctx.db.writer() as conn:
        share = shares.get(conn, ctx, ident, own=True)
        if not share.is_soft_deleted:
            return False
        if share.status in _TOO_LATE or not snapshots.hold_share(conn, share.instance_id, states.SHARE.statuses - _TOO_LATE):
            raise errors.Forbidden(f'Share {ident} is being deleted; it is too late to restore it.', code='share_expired')
        shares.update(conn, ident, is_soft_deleted=False, scheduled_to_be_deleted_at=None)
    _tell(ctx, 'share.restore', share)
    return True


def _tell(ctx: RequestContext, event: str, share: Any) -> None:
    notices.emit(ctx, event, {'share_id': share.id, 'size': share.size, 'owner': share.project_id})
