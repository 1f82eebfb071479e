# SPDX-License-Identifier: Apache-2.0
"""Actions on snapshots. Operations on one share are serial, so no two driver calls for it run at once."""

from typing import Any

from oslo_utils import uuidutils

from manila_lite import engine, errors, states
from manila_lite.actions import share_bin, share_group_membership
from manila_lite.actions.metadata import Metadata
from manila_lite.context import RequestContext
from manila_lite.db.core import key_values, transitions
from manila_lite.db.core.engine import Connection
from manila_lite.db.models import snapshot_metadata
from manila_lite.db.queries import operations as rows
from manila_lite.db.queries import quotas, share_groups, shares, snapshots

#: Statuses of a share in which a snapshot can be taken, and those in which ``force`` allows it: the
#: resize failed, but the share does not change and holds its data.
_CALM = ('available',)
_FORCED = ('available', 'extending_error', 'shrinking_error')


def create(ctx: RequestContext, wanted: dict[str, Any]) -> tuple[Any, dict[str, str]]:
    """Begin a snapshot, in ``creating``. Return its row and its metadata.

    ``wanted``: share_id, and any of name, description, force, metadata.

    :raises errors.Invalid: the share's type does not support snapshots.
    :raises errors.WrongState: the share's status does not allow a snapshot.
    :raises errors.OverQuota: see ``db/queries/quotas.py``.
    """
    ident = uuidutils.generate_uuid()
    metadata = wanted.get('metadata') or {}
    with ctx.db.writer() as conn:
        share = shares.get(conn, ctx, wanted['share_id'], own=True)
        share_bin.must_be_out(share)
        if not share.snapshot_support:
            raise errors.Invalid(f'share_id: the share type of share {share.id} does not do snapshots.',
                                 code='snapshots_not_supported')
        _check_share(conn, share, _FORCED if wanted.get('force') else _CALM)
        share_bin.must_still_be_out(conn, share.id)
        share_group_membership.must_be_still(conn, share)
        quotas.check(conn, ctx.conf, ctx.project_id, ctx.user_id, share.share_type_id,
                     {'snapshots': 1, 'snapshot_gigabytes': share.size})
        transitions.create(conn, states.SNAPSHOT, {
            'id': ident, 'share_id': share.id, 'project_id': ctx.project_id, 'user_id': ctx.user_id,
            'name': wanted.get('name'), 'description': wanted.get('description'), 'size': share.size,
            'share_size': share.size, 'share_proto': share.share_proto, 'progress': '0%'})
        key_values.insert(conn, snapshot_metadata, ident, metadata, ctx.conf)
        wake = _to_backend(conn, ctx, 'snapshot.create', ident, share)
        row = snapshots.get(conn, ctx, ident)
    wake.send(ctx)
    return row, metadata


def _check_share(conn: Connection, share: Any, allowed: tuple[str, ...]) -> None:
    if not share.host:
        raise errors.WrongState(f'share_id: share {share.id} has no host: it was never made at a backend.')
    if not snapshots.lock_share(conn, share.instance_id, allowed):
        raise errors.WrongState(f'share_id: share {share.id} is {share.status}; to take a snapshot, it must be '
                                f'{" or ".join(allowed)}.')


def _to_backend(conn: Connection, ctx: RequestContext, kind: str, ident: str, share: Any) -> engine.Wake:
    """Begin an operation at the share's backend. For a share that was never placed, the scheduler runs it."""
    return engine.begin(conn, ctx, kind, 'snapshot', ident, topic='share' if share.host else 'scheduler',
                            host=share.host or '', serial=share.instance_id, open_key=f'snapshot:{ident}')


def update(ctx: RequestContext, ident: str, values: dict[str, Any]) -> Any:
    """Change a snapshot's name or description. Return its row."""
    with ctx.db.writer() as conn:
        snapshots.get(conn, ctx, ident)
        snapshots.update(conn, ident, **values)
        return snapshots.get(conn, ctx, ident)


def delete(ctx: RequestContext, ident: str, *, force: bool = False) -> None:
    """Begin to delete a snapshot, in ``deleting``. It counts against quota until it is gone.

    Where deletion is deferred, the snapshot is gone for its owner, and for quota, at once. Shares that were made from
    it stay. ``force``: end its open operations, and accept nearly any status.

    :raises errors.WrongState: the snapshot's status does not allow it, or a share is being made from it.
    """
    with ctx.db.writer() as conn:
        snapshots.get(conn, ctx, ident)
        if force:
            _supersede(conn, ident)
        elif growing := snapshots.find_share_being_created(conn, ident):
            raise errors.WrongState(f'Share {growing} is being made from snapshot {ident}; wait for it.')
        share = snapshots.share_of(conn, ident)
        hold_place_of(conn, share)
        verb, kind = share_bin.way_out(ctx, 'snapshot', share.host, force=force)
        transitions.begin(conn, states.SNAPSHOT, verb, ident, **({'is_going': True} if verb == 'defer' else {}))
        if force:
            _supersede(conn, ident)         # and one begun before the row was locked: a retry of a deferred deletion
        wake = _to_backend(conn, ctx, kind, ident, share)
    wake.send(ctx)


def hold_place_of(conn: Connection, share: Any) -> None:
    """Hold the share so that its snapshots stay where they are.

    No replica of the share may be promoted, and no snapshot of its group may be under way.

    :raises errors.WrongState: a replica is being promoted, or a group snapshot is being taken or deleted.
    """
    changing = states.SHARE['promote'].during
    if share.replication_type and not snapshots.lock_share(conn, share.instance_id, states.SHARE.statuses - {changing}):
        raise errors.WrongState(f'Share {share.id} is {changing}; wait until that is over.')
    if share.share_group_id:
        share_groups.lock(conn, share.share_group_id, states.SHARE_GROUP.statuses)
        share_group_membership.must_be_still(conn, share)


def reset_status(ctx: RequestContext, ident: str, status: str) -> None:
    """Set a snapshot's status. Its open operations end."""
    with ctx.db.writer() as conn:
        snapshots.get(conn, ctx, ident)
        _supersede(conn, ident)
        transitions.reset(conn, states.SNAPSHOT, ident, status)
        _supersede(conn, ident)             # and operations begun before the row was locked
        snapshots.update(conn, ident, is_going=False)


def _supersede(conn: Connection, ident: str) -> None:
    rows.supersede(conn, ident, ('snapshot.create', 'snapshot.delete', 'snapshot.deferred_delete', 'snapshot.manage',
                                 'snapshot.unmanage'))


#: Actions on the metadata of snapshots.
METADATA = Metadata(snapshots.get, snapshot_metadata)
