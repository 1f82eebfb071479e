# SPDX-License-Identifier: Apache-2.0
"""Actions on snapshots. Operations on one share are serial, so no two driver calls for it run at once."""

from typing import Any

from oslo_utils import uuidutils

from manila_lite import engine, errors, states
from manila_lite.actions import owners, share_bin, share_group_membership, share_guards, superseding
from manila_lite.actions.metadata import Metadata
from manila_lite.context import RequestContext
from manila_lite.db.core import key_values, transitions
from manila_lite.db.core.engine import Connection, Row
from manila_lite.db.models import snapshot_metadata
from manila_lite.db.queries import quotas, share_groups, shares, snapshots
from manila_lite.operation_data import OperationData

#: Statuses of a share in which a snapshot can be taken, and those in which ``force`` allows it: the
#: resize failed, but the share does not change and holds its data.
_AVAILABLE = ('available',)
_FORCED = ('available', 'extending_error', 'shrinking_error')


#: Operations that create or remove a snapshot; a forced deletion and a reset end them.
_LIFE = tuple(f'snapshot.{verb}' for verb in ('create', 'delete', 'deferred_delete', 'manage', 'unmanage'))


def create(ctx: RequestContext, wanted: dict[str, Any]) -> tuple[Any, dict[str, str]]:
    """Begin a snapshot, in ``creating``. Return its row and its metadata.

    ``wanted``: share_id, and any of name, description, force, metadata.

    :raises errors.Invalid: the share's type does not support snapshots.
    :raises errors.WrongState: the share's status does not allow a snapshot.
    :raises errors.OverQuota: see ``db/queries/quotas.py``.
    """
    snapshot_id = uuidutils.generate_uuid()
    metadata = wanted.get('metadata') or {}
    with ctx.db.writer() as conn:
        share = shares.get(conn, ctx, wanted['share_id'], own=True)
        share_bin.must_be_out(share)
        share_guards.must_support_snapshots(share)
        _check_share(conn, share, _FORCED if wanted.get('force') else _AVAILABLE)
        share_bin.must_be_as_read(conn, share)
        share_group_membership.must_have_settled_group(conn, share)
        owner = owners.of_part(ctx, share)
        transitions.create(
            conn,
            states.SNAPSHOT,
            {
                'id': snapshot_id,
                'share_id': share.id,
                **owner._asdict(),
                'name': wanted.get('name'),
                'description': wanted.get('description'),
                'size': share.size,
                'share_size': share.size,
                'share_proto': share.share_proto,
                'progress': '0%',
            },
        )
        key_values.insert(conn, snapshot_metadata, snapshot_id, metadata, ctx.conf)
        begin_at_backend(conn, ctx, 'snapshot.create', snapshot_id, share)
        quotas.check(
            conn,
            ctx.conf,
            *owner,
            share.share_type_id,
            {'snapshots': 1, 'snapshot_gigabytes': share.size},
            written=True,
        )
        return snapshots.get(conn, ctx, snapshot_id), metadata


def _check_share(conn: Connection, share: Row[Any], allowed: tuple[str, ...]) -> None:
    if not share.host:
        raise errors.WrongState(f'share_id: share {share.id} has no host: it was never created at a backend.')
    if not snapshots.lock_share(conn, share.instance_id, allowed):
        raise errors.WrongState(
            f'share_id: share {share.id} is {share.status}; to take a snapshot, it must be '
            f'{" or ".join(allowed)}.'
        )


def begin_at_backend(
    conn: Connection,
    ctx: RequestContext,
    kind: str,
    snapshot_id: str,
    share: Row[Any],
    data: OperationData | None = None,
) -> None:
    """Begin an operation at the share's backend. For a share that was never placed, the scheduler runs it."""
    engine.begin(
        conn,
        ctx,
        kind,
        'snapshot',
        snapshot_id,
        topic='share' if share.host else 'scheduler',
        host=share.host or '',
        mutex_key=share.instance_id,
        unique_key=f'snapshot:{snapshot_id}',
        data=data,
        owner=share.project_id,
    )


def update(ctx: RequestContext, snapshot_id: str, values: dict[str, Any]) -> Row[Any]:
    """Change a snapshot's name or description. Return its row."""
    with ctx.db.writer() as conn:
        snapshots.get(conn, ctx, snapshot_id)
        snapshots.update(conn, snapshot_id, **values)
        return snapshots.get(conn, ctx, snapshot_id)


def delete(ctx: RequestContext, snapshot_id: str, *, force: bool = False) -> None:
    """Begin to delete a snapshot, in ``deleting``. It counts against quota until it is gone.

    Where deletion is deferred, the snapshot is gone for its owner, and for quota, at once. Shares that were made from
    it stay. ``force``: end its open operations, and accept nearly any status.

    :raises errors.WrongState: the snapshot's status does not allow it, or a share is being made from it.
    """
    with ctx.db.writer() as conn:
        snapshots.get(conn, ctx, snapshot_id)
        with superseding.ended_operations(conn, snapshot_id, _LIFE, force=force):
            share = snapshots.share_of(conn, snapshot_id)
            lock_share_for_snapshots(conn, share)
            share_guards.must_not_move_with_server(conn, share)
            verb, kind = share_bin.choose_deletion(ctx, 'snapshot', share.host, force=force)
            transitions.begin(
                conn,
                states.SNAPSHOT,
                verb,
                snapshot_id,
                **({'deletion_deferred': True} if verb == 'defer' else {}),
            )
        if not force:
            must_not_be_in_use(conn, snapshot_id)
        begin_at_backend(conn, ctx, kind, snapshot_id, share)


def must_not_be_in_use(conn: Connection, snapshot_id: str) -> None:
    """Refuse a snapshot from which a share is being created. From its change of status on, no creation can begin.

    :raises errors.WrongState: there is such a share.
    """
    if new_share_id := snapshots.find_share_being_created(conn, snapshot_id):
        raise errors.WrongState(
            f'Share {new_share_id} is being created from snapshot {snapshot_id}; wait until it is available.'
        )


def lock_share_for_snapshots(conn: Connection, share: Row[Any]) -> None:
    """Hold the share so that its snapshots stay where they are.

    No replica of the share may be promoted, and no snapshot of its group may be under way.

    :raises errors.WrongState: a replica is being promoted, or a group snapshot is being taken or deleted.
    """
    changing = states.SHARE['promote'].during
    if share.replication_type and not snapshots.lock_share(
        conn, share.instance_id, states.SHARE.statuses - {changing}
    ):
        raise errors.WrongState(f'Share {share.id} is {changing}; wait until that is over.')
    if share.share_group_id:
        share_groups.lock(conn, share.share_group_id, states.SHARE_GROUP.statuses)
        share_group_membership.must_have_settled_group(conn, share)


def reset_status(ctx: RequestContext, snapshot_id: str, status: str) -> None:
    """Set a snapshot's status. Its open operations end."""
    with ctx.db.writer() as conn:
        snapshots.get(conn, ctx, snapshot_id)
        superseding.reset(conn, states.SNAPSHOT, snapshot_id, status, _LIFE)
        snapshots.update(conn, snapshot_id, deletion_deferred=False)


#: Actions on the metadata of snapshots.
METADATA = Metadata(snapshot_metadata, snapshots.get, snapshots.get)
