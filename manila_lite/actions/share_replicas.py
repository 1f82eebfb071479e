# SPDX-License-Identifier: Apache-2.0
"""Actions on share replicas: further instances of a share at other backends. Any of them can be promoted."""

from collections.abc import Mapping
from typing import Any

from oslo_utils import uuidutils

from manila_lite import engine, errors, states
from manila_lite.actions import default_networks, share_bin, share_requests
from manila_lite.actions import shares as shares_actions
from manila_lite.actions.metadata import Metadata
from manila_lite.context import RequestContext
from manila_lite.db.core import key_values, transitions
from manila_lite.db.core.engine import Connection, Row
from manila_lite.db.models import share_instance_metadata
from manila_lite.db.queries import (
    access,
    quotas,
    services,
    share_networks,
    share_replicas,
    share_server_queries,
    share_types,
    shares,
    snapshots,
)
from manila_lite.db.queries import operations as rows
from manila_lite.operation_data.share_replicas import CreateReplica, DeleteReplica, PromoteReplica
from manila_lite.states import Replica
from manila_lite.workflow import share_replicas as replica_workflow

_SHARE = states.SHARE
#: All operations on a replica, except for updates of its access rules.
_LIFE = (share_replicas.CREATE, share_replicas.DELETE, share_replicas.UPDATE, share_replicas.PROMOTE)


# Creating -------------------------------------------------------------------------------------------


def create(ctx: RequestContext, wanted: Mapping[str, Any]) -> tuple[Any, dict[str, str]]:
    """Begin a replica, in ``creating``. Return its row and its metadata.

    ``wanted``: share_id, and any of availability_zone, share_network_id, scheduler_hints (only_host), metadata.

    :raises errors.NotFound: there is no such share.
    :raises errors.Invalid: the share cannot have replicas, or the zone or the network does not fit.
    :raises errors.OverQuota: see ``db/queries/quotas.py``.
    """
    replica_id, metadata = uuidutils.generate_uuid(), dict(wanted.get('metadata') or {})
    named = default_networks.is_missing(
        ctx, wanted.get('share_network_id') or _network_of(ctx, wanted['share_id'])
    )
    with ctx.db.writer() as conn:
        share = shares.get(conn, ctx, wanted['share_id'], own=True)
        _must_be_replicable(conn, share)
        share_type = share_types.get(conn, ctx.elevated(), share.share_type_id)
        zone_id = _zone(conn, share_type, wanted.get('availability_zone'))
        network_id = _network(conn, ctx, share, wanted.get('share_network_id'), zone_id)
        if network_id and named:
            share_requests.must_be_in_network(conn, network_id, zone_id)
        _lock_available(conn, share)
        quotas.check(
            conn,
            ctx.conf,
            share.project_id,
            share.user_id,
            share.share_type_id,
            {'share_replicas': 1, 'replica_gigabytes': share.size},
        )
        transitions.create(
            conn,
            _SHARE,
            {
                'id': replica_id,
                'share_id': share.id,
                'share_type_id': share.share_type_id,
                'progress': '0%',
                'is_secondary': True,
                'replica_state': Replica.OUT_OF_SYNC.value,
                'cast_rules_to_readonly': share.replication_type == 'readable',
                'availability_zone_id': zone_id,
                'share_network_id': network_id,
                'access_rules_status': states.Rules.ACTIVE.value,
            },
        )
        key_values.insert(conn, share_instance_metadata, replica_id, metadata, ctx.conf)
        engine.begin(
            conn,
            ctx,
            share_replicas.CREATE,
            'share_replica',
            replica_id,
            topic='scheduler',
            mutex_key=replica_id,
            unique_key=f'replica:{replica_id}',
            owner=share.project_id,
            data=CreateReplica(
                share_id=share.id,
                zone=wanted.get('availability_zone'),
                named_subnets=named,
                only_host=share_requests.get_only_host(ctx, wanted.get('scheduler_hints') or {}),
            ),
        )
        return share_replicas.get(conn, ctx, replica_id), metadata


def _must_be_replicable(conn: Connection, share: Row[Any]) -> None:
    share_bin.must_be_out(share)
    if not share.replication_type:
        raise errors.Invalid(
            f'share_id: the share type of share {share.id} does not support replication.',
            code='replication_not_supported',
        )
    if share.share_group_id:
        raise errors.Invalid(
            f'share_id: share {share.id} is a member of share group {share.share_group_id}.',
            code='share_in_group',
        )


def _lock_available(conn: Connection, share: Row[Any]) -> None:
    """Hold the share until the transaction ends, and refuse one that is not available."""
    if not share.host or not snapshots.lock_share(conn, share.instance_id, ('available',)):
        raise errors.Invalid(
            f'share_id: share {share.id} is {share.status}; to make a replica, it must be available.',
            code='share_not_available',
        )
    share_bin.must_be_as_read(conn, share)


def _network_of(ctx: RequestContext, share_id: str) -> str | None:
    with ctx.db.reader() as conn:
        network_id: str | None = shares.get(conn, ctx, share_id, own=True).share_network_id
    return network_id


def _zone(conn: Connection, share_type: share_types.ShareType, name: str | None) -> str | None:
    if not name:
        return None
    share_requests.must_be_offered(share_type, name)
    try:
        return services.zone_id(conn, name)
    except errors.NotFound as none:
        raise errors.Invalid(f'availability_zone: {none}') from None


def _network(
    conn: Connection, ctx: RequestContext, share: Row[Any], wanted: str | None, zone_id: str | None
) -> str | None:
    """Return the share network of the replica, held until the transaction ends."""
    if not share.share_network_id:
        if wanted:
            raise errors.Invalid('share_network_id: the share type does not use share networks.')
        return None
    network_id = wanted or share.share_network_id
    try:
        share_networks.get(conn, ctx, network_id)
    except errors.NotFound as none:
        raise errors.Invalid(f'share_network_id: {none}') from None
    share_requests.must_have_active_network(conn, network_id)
    if zone_id and not share_server_queries.subnets_for(conn, network_id, zone_id):
        raise errors.Invalid(
            f'share_network_id: share network {network_id} has no subnet in that availability zone.'
        )
    return str(network_id)


# Promoting and following ----------------------------------------------------------------------------


def promote(ctx: RequestContext, replica_id: str, wait: int = 0) -> tuple[Any, bool]:
    """Begin to promote a replica, in ``replication_change``. Return its row, and whether there is work to do.

    There is none if the replica is the active one already. ``wait``: seconds that the replica may take to catch up
    first.

    :raises errors.WrongState: the status of the replica, the share or a snapshot does not allow it.
    :raises errors.Invalid: the replica is on no backend.
    :raises errors.Forbidden: the replica is not in sync, and the caller is no administrator.
    """
    share_id = _share_of(ctx, replica_id)
    with ctx.db.writer() as conn:
        access.lock(conn, share_id)
        row = share_replicas.get(conn, ctx, replica_id)
        if not row.is_secondary:
            return row, False
        if row.status != 'available':
            raise errors.WrongState(
                f'Replica {replica_id} is {row.status}; to be promoted it must be available.'
            )
        _must_be_placed(row)
        if row.replica_state in (Replica.OUT_OF_SYNC, Replica.ERROR) and not ctx.is_admin:
            raise errors.Forbidden(
                f'Replica {replica_id} is {row.replica_state}: only administrators may promote it, '
                'because newer data would be lost.',
                code='replica_not_in_sync',
            )
        share = shares.get(conn, ctx.elevated(), row.share_id)
        share_bin.must_be_out(share)
        _must_have_settled_snapshots(conn, share)
        over = 'hand_over' if share.status == 'available' else 'fail_over'
        transitions.begin(conn, _SHARE, over, share.instance_id)
        transitions.begin(conn, _SHARE, 'promote', replica_id)
        engine.begin(
            conn,
            ctx,
            share_replicas.PROMOTE,
            'share_replica',
            replica_id,
            topic='share',
            host=row.host,
            mutex_key=replica_id,
            unique_key=f'replica:{replica_id}',
            owner=share.project_id,
            data=PromoteReplica(
                share_id=share.id, over=over, quiesce=wait, mounted=share.replication_type == 'readable'
            ),
        )
        return share_replicas.get(conn, ctx, replica_id), True


def _must_be_placed(row: Row[Any]) -> None:
    if not row.host:
        raise errors.Invalid(f'Replica {row.id} has no host: it was never created at a backend.')


def _must_have_settled_snapshots(conn: Connection, share: Row[Any]) -> None:
    for snapshot in snapshots.list_unavailable(conn, share.id):
        if snapshot.status in states.SNAPSHOT.transient:
            raise errors.WrongState(
                f'Snapshot {snapshot.id} of share {share.id} is {snapshot.status}; wait for it, or reset it.'
            )


def _share_of(ctx: RequestContext, replica_id: str) -> str:
    with ctx.db.reader() as conn:
        return str(share_replicas.get(conn, ctx, replica_id).share_id)


def resync(ctx: RequestContext, replica_id: str) -> bool:
    """Begin to bring a replica up to date. Return False for the active one.

    The replica state of the active one is set to ``active``.

    :raises errors.Invalid: the replica is on no backend.
    :raises errors.WrongState: the replica's status does not allow it.
    """
    share_id = _share_of(ctx, replica_id)
    with ctx.db.writer() as conn:
        access.lock(conn, share_id)
        row = share_replicas.get(conn, ctx, replica_id)
        if not row.is_secondary:
            transitions.set_replica_state(conn, replica_id, Replica.ACTIVE)
            return False
        _must_be_placed(row)
        if row.status not in replica_workflow.FOLLOWING:
            raise errors.WrongState(
                f'Replica {replica_id} is {row.status}; to be resynchronized, it must be '
                f'{" or ".join(replica_workflow.FOLLOWING)}.'
            )
        replica_workflow.resync(conn, ctx, row)
    return True


# Deleting -------------------------------------------------------------------------------------------


def delete(ctx: RequestContext, replica_id: str, *, force: bool = False) -> None:
    """Begin to delete a replica, in ``deleting``. It counts against quota until it is gone.

    ``force``: accept nearly any status, stop a promotion of the replica, and delete it even if its backend cannot.

    :raises errors.Invalid: the replica is the active one.
    :raises errors.WrongState: the replica's status does not allow it.
    """
    share_id = _share_of(ctx, replica_id)
    with ctx.db.writer() as conn:
        access.lock(conn, share_id)
        row = share_replicas.get(conn, ctx, replica_id)
        if not row.is_secondary:
            raise errors.Invalid(
                f'Replica {replica_id} is the active one; promote another one first.', code='active_replica'
            )
        stopped, left = force and _stop_promotion(conn, ctx, row), replica_workflow.left_at(conn, replica_id)
        if force:
            rows.supersede(conn, replica_id, _LIFE)
        transitions.begin(conn, _SHARE, 'force_delete' if force else 'delete', replica_id)
        rows.supersede(conn, replica_id, (share_replicas.UPDATE, share_replicas.ACCESS))
        engine.begin(
            conn,
            ctx,
            share_replicas.DELETE,
            'share_replica',
            replica_id,
            mutex_key=replica_id,
            host=row.host or '',
            topic='share' if row.host else 'scheduler',
            unique_key=f'replica:{replica_id}',
            owner=row.project_id,
            data=DeleteReplica(share_id=row.share_id, force=force, left=left),
        )
        if stopped:
            replica_workflow.put_back(conn, ctx, row.share_id, replica_id)


def _stop_promotion(conn: Connection, ctx: RequestContext, row: Row[Any]) -> bool:
    """Fail an open promotion of the replica and put the share's status back. Return whether there was a promotion."""
    if row.status != _SHARE['promote'].during or not row.is_secondary:
        return False
    share = shares.get(conn, ctx.elevated(), row.share_id)
    for op in rows.list_of_resource(conn, row.id, share_replicas.PROMOTE)[-1:]:
        transitions.fail(conn, _SHARE, PromoteReplica.from_json(op.data).over, share.instance_id)
    transitions.fail(conn, _SHARE, 'promote', row.id)
    return True


# By hand --------------------------------------------------------------------------------------------


def reset_status(ctx: RequestContext, replica_id: str, status: str) -> None:
    """Set a replica's status. Its open operations end, and a promotion is undone at the share.

    The status of the active one is that of the share, and is set like it.
    """
    share_id = _share_of(ctx, replica_id)
    if not is_replica(ctx, replica_id):
        shares_actions.reset_status(ctx, share_id, status)
        return
    with ctx.db.writer() as conn:
        access.lock(conn, share_id)
        row = share_replicas.get(conn, ctx, replica_id)
        stopped = _stop_promotion(conn, ctx, row)
        rows.supersede(conn, replica_id, _LIFE)
        transitions.reset(conn, _SHARE, replica_id, status)
        if stopped:
            replica_workflow.put_back(conn, ctx, row.share_id, replica_id)


def reset_replica_state(ctx: RequestContext, replica_id: str, state: str) -> None:
    """Set a replica's replica state, until the replica is brought up to date.

    :raises errors.Invalid: the share would have no active replica, or two.
    """
    share_id = _share_of(ctx, replica_id)
    with ctx.db.writer() as conn:
        access.lock(conn, share_id)
        if (state == Replica.ACTIVE) == share_replicas.get(conn, ctx, replica_id).is_secondary:
            raise (
                errors.Invalid(
                    f'replica_state: replica {replica_id} is not the active one, and a share has only one.',
                    code='not_active_replica',
                )
                if state == Replica.ACTIVE
                else errors.Invalid(
                    f'replica_state: replica {replica_id} is the active one, and each share has one.',
                    code='active_replica',
                )
            )
        transitions.set_replica_state(conn, replica_id, Replica(state))


def is_replica(ctx: RequestContext, replica_id: str) -> bool:
    """Say whether the share instance is a replica that is not the active one."""
    with ctx.db.reader() as conn:
        return share_replicas.as_share(conn, replica_id) is not None


#: Actions on the metadata of replicas.
METADATA = Metadata(share_instance_metadata, share_replicas.get, share_replicas.get)
