# SPDX-License-Identifier: Apache-2.0
"""Actions on shares. Each checks, writes the row and its operation in one transaction, and wakes the worker."""

from typing import Any

from manila_lite import engine, errors, states
from manila_lite.actions import (
    resource_locks,
    share_bin,
    share_group_membership,
    share_guards,
    share_requests,
)
from manila_lite.actions.metadata import Metadata
from manila_lite.context import RequestContext
from manila_lite.db.core import transitions
from manila_lite.db.core.engine import Connection, Row
from manila_lite.db.models import share_metadata
from manila_lite.db.queries import (
    access,
    quotas,
    share_replicas,
    share_transfers,
    share_types,
    shares,
    snapshots,
)
from manila_lite.db.queries import operations as rows
from manila_lite.operation_data import OperationData
from manila_lite.operation_data.shares import ResizeShare, RevertShare
from manila_lite.workflow import share_backups
from manila_lite.workflow import share_migration as share_migration_workflow


def update(ctx: RequestContext, share_id: str, values: dict[str, Any]) -> Row[Any]:
    """Change a share's name, description or is_public. Return its row."""
    with ctx.db.writer() as conn:
        share = shares.get(conn, ctx, share_id, own=True)
        share_bin.must_be_out(share)
        if values.get('is_public') and not share.is_public and not ctx.can('share:set_public_share'):
            raise errors.Forbidden('is_public: only administrators may make shares public.')
        shares.update(conn, share_id, **values)
        return shares.get(conn, ctx, share_id)


def delete(
    ctx: RequestContext,
    share_id: str,
    *,
    force: bool = False,
    from_bin: bool = False,
    group_id: str | None = None,
) -> None:
    """Begin to delete a share and its rules, in ``deleting``. It counts against quota until it is gone.

    Where deletion is deferred, the share is gone for its owner, and for quota, at once. ``group_id``: the group that
    the share is in, if any. ``from_bin``: the share must be in the recycle bin.

    :raises errors.Invalid: the share is in another group, unless forced.
    :raises errors.WrongState: the share's status does not allow it (``force``: any status does), it is being migrated,
        or it is not in the recycle bin (``from_bin``).
    :raises errors.Forbidden: the share has snapshots or backups, is in a group snapshot, or is locked.
    :raises errors.Conflict: the share has replicas beside the active one.
    """
    with ctx.db.writer() as conn:
        share = shares.get(conn, ctx, share_id, own=True)
        share_guards.must_not_be_migrating(conn, share)
        if force:
            _end_open_operations(conn, ctx, share)
        else:
            share_group_membership.must_name_group(share, group_id)
        verb, kind = share_bin.choose_deletion(ctx, 'share', share.host, force=force)
        transitions.begin(conn, states.SHARE, verb, share.instance_id)
        now = share_bin.must_be_of_owner(conn, share)
        share_guards.must_have_no_replicas(conn, share)
        share_group_membership.must_be_in_no_group_snapshot(conn, share)
        if from_bin and not (now and now.is_soft_deleted):
            raise errors.WrongState(f'Share {share_id} was restored.')
        if verb == 'defer':
            shares.update(conn, share_id, deletion_deferred=True)
        # After the transition: no lock can be placed and no snapshot can begin any more.
        resource_locks.refuse_if_locked(conn, ctx, share_id)
        share_guards.must_have_no_snapshots(conn, share_id)
        share_guards.must_have_no_backups(conn, share_id)
        for row in shares.list_second_instances(conn, share_id=share_id):
            if row.status in states.SHARE['delete'].allowed:
                share_migration_workflow.begin_release(conn, ctx, row)
        begin_at_backend(conn, ctx, kind, share)


def delete_second_instance(ctx: RequestContext, instance_id: str) -> bool:
    """Begin to delete a share's second instance, left by a migration. Return False if the instance is the share itself.

    :raises errors.WrongState: the instance is being deleted already, or a migration needs it.
    """
    with ctx.db.writer() as conn:
        instances = shares.list_second_instances(conn, instance_id=instance_id)
        for instance in instances:
            share_migration_workflow.begin_release(conn, ctx, instance)
    return bool(instances)


def reset_second_instance(ctx: RequestContext, instance_id: str, status: str) -> bool:
    """Set the status of a share's second instance. Return False if the instance is the share itself."""
    with ctx.db.writer() as conn:
        instances = shares.list_second_instances(conn, instance_id=instance_id)
        for instance in instances:
            transitions.reset(conn, states.SHARE, instance.instance_id, status)
    return bool(instances)


_LIFE = (
    'share.create',
    'share.extend',
    'share.shrink',
    'share.revert',
    'share.delete',
    'share.deferred_delete',
    'share.manage',
    'share.unmanage',
)


def _end_open_operations(conn: Connection, ctx: RequestContext, share: Row[Any]) -> None:
    """End open operations on the share, with its target size, transfers, backups and restored snapshots.

    The share is held until the transaction ends, so none begins later.
    """
    access.lock(conn, share.id)
    rows.supersede(conn, share.id, _LIFE)
    shares.update(conn, share.id, target_size=None)
    share_transfers.delete_of_share(conn, share.id)
    share_backups.abandon(conn, ctx, share.id)
    restoring = states.SNAPSHOT['restore']
    transitions.settle(
        conn, states.SNAPSHOT, snapshots.ids_of(conn, share.id), restoring.during, restoring.fail
    )


def begin_at_backend(
    conn: Connection, ctx: RequestContext, kind: str, share: Row[Any], data: OperationData | None = None
) -> None:
    """Begin an operation at the share's backend. For a share that was never placed, the scheduler runs it."""
    engine.begin(
        conn,
        ctx,
        kind,
        'share',
        share.id,
        topic='share' if share.host else 'scheduler',
        host=share.host or '',
        data=data,
        mutex_key=share.instance_id,
        unique_key=f'share:{share.id}',
        owner=share.project_id,
    )


def extend(
    ctx: RequestContext, share_id: str, new_size: int, *, force: bool = False, automatic: bool = False
) -> None:
    """Begin to extend a share to ``new_size`` GiB, in ``extending``. Quota counts the growth from now on.

    ``force``: skip the scheduler. ``automatic``: nobody asks for it now; the owner hears only once that the pool has no room.

    :raises errors.Invalid: the size is not larger than now, or larger than the type allows.
    :raises errors.WrongState: the share is not available.
    """
    with ctx.db.writer() as conn:
        share = shares.get(conn, ctx, share_id, own=True)
        share_bin.must_be_out(share)
        if new_size <= share.size:
            raise errors.Invalid(
                f'new_size: must be larger than the {share.size} GiB that share {share_id} has.'
            )
        share_type = share_types.get(conn, ctx.elevated(), share.share_type_id)
        share_requests.check_size(ctx, share_type, new_size, extending=True)
        share_guards.must_be_placed(share)
        transitions.begin(conn, states.SHARE, 'extend', share.instance_id)
        share_bin.must_be_as_read(conn, share)
        share_group_membership.must_have_settled_group(conn, share)
        _check_growth(conn, ctx, share, new_size)
        shares.update(conn, share_id, target_size=new_size)
        engine.begin(
            conn,
            ctx,
            'share.extend',
            'share',
            share_id,
            topic='share' if force else 'scheduler',
            host=share.host if force else '',
            data=ResizeShare(size=share.size, new_size=new_size, automatic=automatic),
            mutex_key=share.instance_id,
            unique_key=f'share:{share_id}',
            owner=share.project_id,
        )


def _check_growth(conn: Connection, ctx: RequestContext, share: Row[Any], new_size: int) -> None:
    more = {'gigabytes': new_size - share.size}
    if share.replication_type:
        more['replica_gigabytes'] = more['gigabytes'] * (1 + share_replicas.count_of(conn, share.id))
    quotas.check(
        conn, ctx.conf, share.project_id, share.user_id, share.share_type_id, more, one_share=new_size
    )


def shrink(ctx: RequestContext, share_id: str, new_size: int) -> None:
    """Begin to shrink a share to ``new_size`` GiB, in ``shrinking``, if its data fits.

    :raises errors.Invalid: the size is not smaller than now, or smaller than the type allows.
    :raises errors.WrongState: the share is not available.
    """
    with ctx.db.writer() as conn:
        share = shares.get(conn, ctx, share_id, own=True)
        share_bin.must_be_out(share)
        if new_size >= share.size:
            raise errors.Invalid(
                f'new_size: must be smaller than the {share.size} GiB that share {share_id} has.'
            )
        share_requests.check_size(ctx, share_types.get(conn, ctx.elevated(), share.share_type_id), new_size)
        share_guards.must_be_placed(share)
        transitions.begin(conn, states.SHARE, 'shrink', share.instance_id)
        share_bin.must_be_as_read(conn, share)
        share_group_membership.must_have_settled_group(conn, share)
        shares.update(conn, share_id, target_size=new_size)
        begin_at_backend(conn, ctx, 'share.shrink', share, ResizeShare(size=share.size, new_size=new_size))


def revert(ctx: RequestContext, share_id: str, snapshot_id: str) -> None:
    """Begin to revert a share to its latest snapshot, in ``reverting``.

    :raises errors.Invalid: the share cannot be reverted, or there is no such snapshot of it.
    :raises errors.WrongState: share or snapshot is not available.
    :raises errors.Conflict: the share is locked, or the snapshot is not its latest.
    :raises errors.OverQuota: the snapshot is larger than the share, and the growth does not fit into quota.
    """
    with ctx.db.writer() as conn:
        share = shares.get(conn, ctx, share_id, own=True)
        share_bin.must_be_out(share)
        if not share.revert_to_snapshot_support:
            raise errors.Invalid(
                f'Share {share_id} cannot be reverted: its share type has no revert_to_snapshot_support.'
            )
        snapshot = _snapshot_of(conn, ctx, share_id, snapshot_id)
        share_guards.must_be_placed(share)
        transitions.begin(conn, states.SHARE, 'revert', share.instance_id)
        share_bin.must_be_as_read(conn, share)
        # From here on no newer one can begin.
        if snapshots.latest_of(conn, share_id) != snapshot_id:
            raise errors.Conflict(
                f'snapshot_id: only the latest snapshot of share {share_id} can be reverted to.'
            )
        share_group_membership.must_have_settled_group(conn, share)
        resource_locks.refuse_overwriting(conn, ctx, share_id)
        transitions.begin(conn, states.SNAPSHOT, 'restore', snapshot_id)
        if snapshot.size > share.size:
            _check_growth(conn, ctx, share, snapshot.size)
        shares.update(conn, share_id, target_size=snapshot.size)
        begin_at_backend(
            conn, ctx, 'share.revert', share, RevertShare(snapshot_id=snapshot_id, new_size=snapshot.size)
        )


def _snapshot_of(conn: Connection, ctx: RequestContext, share_id: str, snapshot_id: str) -> Row[Any]:
    """Return the snapshot of the share that a request names."""
    try:
        snapshot = snapshots.get(conn, ctx, snapshot_id)
    except errors.NotFound:
        raise errors.Invalid(f'snapshot_id: there is no snapshot {snapshot_id}.') from None
    if snapshot.share_id != share_id:
        raise errors.Invalid(f'snapshot_id: snapshot {snapshot_id} is not of share {share_id}.')
    return snapshot


def reset_status(ctx: RequestContext, share_id: str, status: str) -> None:
    """Set a share's status. Its open operations end."""
    with ctx.db.writer() as conn:
        share = shares.get(conn, ctx, share_id, own=True)
        share_bin.must_be_out(share)
        _end_open_operations(conn, ctx, share)
        transitions.reset(conn, states.SHARE, share.instance_id, status)
        if share.deletion_deferred:
            shares.update(conn, share_id, deletion_deferred=False)


def _get_open(conn: Connection, ctx: RequestContext, share_id: str) -> None:
    share_bin.must_be_out(shares.get(conn, ctx, share_id, own=True))


METADATA = Metadata(share_metadata, shares.get, _get_open, share_requests.vet_metadata)
