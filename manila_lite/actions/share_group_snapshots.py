# SPDX-License-Identifier: Apache-2.0
"""Actions on share group snapshots. Shares of a group do not change during one: see ``grouping``."""

from collections.abc import Mapping
from typing import Any

from oslo_utils import uuidutils

from manila_lite import engine, errors, states
from manila_lite.actions import owners, share_group_membership, superseding
from manila_lite.context import RequestContext
from manila_lite.db.core import transitions
from manila_lite.db.core.engine import Connection, Row
from manila_lite.db.queries import quotas, share_group_snapshots, share_groups, snapshots
from manila_lite.rpc import notifications

_LIFE = ('share_group_snapshot.create', 'share_group_snapshot.delete')


def create(ctx: RequestContext, wanted: Mapping[str, Any]) -> Row[Any]:
    """Begin a group snapshot, in ``creating``, of every share that is in the group now. Return its row.

    ``wanted``: share_group_id, and any of name and description.

    :raises errors.Invalid: the group does not exist.
    :raises errors.Conflict: the group or one of its shares is not available, or does no snapshots.
    :raises errors.OverQuota: see ``db/queries/quotas.py``.
    """
    group_snapshot_id = uuidutils.generate_uuid()
    with ctx.db.writer() as conn:
        held = share_groups.lock(conn, wanted['share_group_id'], ('available',))
        with errors.in_request('share_group_id'):
            group = share_groups.get(
                conn, ctx, wanted['share_group_id']
            )  # after the hold: its creation may just have ended
        if not held:
            raise errors.WrongState(
                f'share_group_id: share group {group.id} is {group.status}, not available.'
            )
        if not share_group_membership.is_placed(group):
            raise errors.WrongState(
                f'share_group_id: share group {group.id} has no host: it was never created.'
            )
        if busy_id := share_groups.find_snapshot_in_transition(conn, group.id):
            raise errors.WrongState(
                f'share_group_id: snapshot {busy_id} of share group {group.id} is being taken or deleted.'
            )
        members = share_groups.shares_of(conn, group.id)
        for share in members:
            _must_be_snapshottable(conn, share)
        owner = owners.of_part(ctx, group)
        quotas.check(conn, ctx.conf, *owner, None, {'share_group_snapshots': 1})
        transitions.create(
            conn,
            states.SHARE_GROUP_SNAPSHOT,
            {
                'id': group_snapshot_id,
                'share_group_id': group.id,
                **owner._asdict(),
                'name': wanted.get('name'),
                'description': wanted.get('description'),
            },
        )
        share_group_snapshots.insert_members(
            conn,
            [
                {
                    'id': uuidutils.generate_uuid(),
                    'share_group_snapshot_id': group_snapshot_id,
                    'share_id': share.id,
                    'size': share.size,
                    'share_proto': share.share_proto,
                }
                for share in members
            ],
        )
        _begin(conn, ctx, 'create', group_snapshot_id, group)
        row = share_group_snapshots.get(conn, ctx, group_snapshot_id)
    notifications.emit(
        ctx,
        'share_group_snapshot.create.start',
        {'share_group_snapshot_id': group_snapshot_id, 'share_group_id': group.id},
    )
    return row


def _must_be_snapshottable(conn: Connection, share: Row[Any]) -> None:
    """Refuse a share that cannot be snapshotted. It is held until the transaction ends."""
    if not share.snapshot_support:
        raise errors.Conflict(
            f'share_group_id: the share type of share {share.id} does not support snapshots.',
            code='snapshots_not_supported',
        )
    if not snapshots.lock_share(conn, share.instance_id, ('available',)):
        raise errors.WrongState(
            f'share_group_id: share {share.id} of the group is {share.status}, not available.'
        )


def _begin(conn: Connection, ctx: RequestContext, verb: str, group_snapshot_id: str, group: Row[Any]) -> None:
    engine.begin(
        conn,
        ctx,
        f'share_group_snapshot.{verb}',
        'share_group_snapshot',
        group_snapshot_id,
        topic='share',
        host=group.host,
        mutex_key=group.id,
        unique_key=f'share_group_snapshot:{group_snapshot_id}',
        owner=group.project_id,
    )


def update(ctx: RequestContext, group_snapshot_id: str, values: Mapping[str, Any]) -> Row[Any]:
    """Change a group snapshot's name or description. Return its row."""
    with ctx.db.writer() as conn:
        share_group_snapshots.get(conn, ctx, group_snapshot_id)
        share_group_snapshots.update(conn, group_snapshot_id, **values)
        return share_group_snapshots.get(conn, ctx, group_snapshot_id)


def delete(ctx: RequestContext, group_snapshot_id: str, *, force: bool = False) -> None:
    """Begin to delete a group snapshot, in ``deleting``. Shares that were made from it stay.

    :raises errors.WrongState: its status does not allow it (``force``: any status does), or a share is being made from
        it.
    """
    with ctx.db.writer() as conn:
        snapshot = share_group_snapshots.get(conn, ctx, group_snapshot_id)
        group = share_groups.get(conn, ctx.elevated(), snapshot.share_group_id)
        share_groups.lock(conn, group.id, states.SHARE_GROUP.statuses)
        # No operation on one of the shares begins meanwhile.
        for _, share in share_group_snapshots.with_shares(conn, group_snapshot_id):
            snapshots.lock_share(conn, share.instance_id, states.SHARE.statuses)
        superseding.begin_delete(conn, states.SHARE_GROUP_SNAPSHOT, group_snapshot_id, _LIFE, force=force)
        if not force and (
            new_share_id := share_group_snapshots.find_share_being_created(conn, group_snapshot_id)
        ):
            raise errors.WrongState(
                f'Share {new_share_id} is being created from share group snapshot {group_snapshot_id}; '
                'wait until it is available.'
            )
        _begin(conn, ctx, 'delete', group_snapshot_id, group)
    notifications.emit(
        ctx, 'share_group_snapshot.delete.start', {'share_group_snapshot_id': group_snapshot_id}
    )


def reset_status(ctx: RequestContext, group_snapshot_id: str, status: str) -> None:
    """Set a group snapshot's status. Its open operations end."""
    with ctx.db.writer() as conn:
        share_group_snapshots.get(conn, ctx, group_snapshot_id)
        superseding.reset(conn, states.SHARE_GROUP_SNAPSHOT, group_snapshot_id, status, _LIFE)
