# SPDX-License-Identifier: Apache-2.0
"""Actions on shares. Each checks, writes the row and its operation in one transaction, and wakes the worker."""

from typing import Any

from oslo_utils import uuidutils

from manila_lite import engine, errors, states
from manila_lite.actions import (
    default_networks,
    encryption,
    mount_points,
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
    affinity,
    quotas,
    share_replicas,
    share_transfers,
    share_types,
    shares,
    snapshots,
)
from manila_lite.db.queries import operations as rows
from manila_lite.host import clock
from manila_lite.operation_data import OperationData
from manila_lite.operation_data.shares import CreateShare, ResizeShare, RevertShare
from manila_lite.workflow import share_backups
from manila_lite.workflow import share_migration as share_migration_workflow


def create(ctx: RequestContext, wanted: dict[str, Any]) -> tuple[Any, dict[str, str]]:
    """Begin a share, in ``creating``. Return its row and its metadata.

    ``wanted``: size (GiB), share_proto, and any of name, description, share_type, snapshot_id, is_public,
    metadata, availability_zone, scheduler_hints, mount_point_name, share_group_id, encryption_key_ref; zones_of_type False if
    the zones of the share type do not count.

    :raises errors.Invalid: a value does not fit, or does not fit the share type.
    :raises errors.NotFound: the type, zone or snapshot does not exist.
    :raises errors.OverQuota: see ``db/queries/quotas.py``.
    """
    share_requests.check_public(ctx, wanted)
    named = default_networks.is_missing(ctx, wanted.get('share_network_id'))
    with ctx.db.writer() as conn:
        source = _source(conn, ctx, wanted)
        share_type = _type(conn, ctx, wanted, source)
        group, wanted = share_group_membership.join(conn, ctx, wanted, share_type)
        wanted = {**wanted, 'encryption_key_ref': encryption.choose_key(wanted, share_type, source, group)}
        spec = share_requests.resolve(conn, ctx, wanted, share_type, source, named=named)
        return begin_create(conn, ctx, wanted, share_type, spec, group), spec.metadata


def begin_create(
    conn: Connection,
    ctx: RequestContext,
    wanted: dict[str, Any],
    share_type: share_types.ShareType,
    spec: share_requests.ShareRequest,
    group: Row[Any] | None = None,
    member: str | None = None,
) -> Any:
    """Begin a share, in ``creating``. Return its row.

    ``group``: the group that it joins. ``member``: the member of a group snapshot that it is created from.

    :raises errors.Invalid: the QoS type of the share type, or the mount point name, is not valid.
    :raises errors.OverQuota: see ``db/queries/quotas.py``.
    """
    share_requests.must_have_qos(conn, share_type)
    mount_point = mount_points.full_name(share_type, ctx.project_id, wanted.get('mount_point_name'))
    share_id = uuidutils.generate_uuid()
    new_keys = quotas.count_new_keys(conn, ctx.project_id, wanted.get('encryption_key_ref'))
    values = {
        'id': share_id,
        'created_at': clock.without_jumps(),
        'project_id': ctx.project_id,
        'user_id': ctx.user_id,
        'name': wanted.get('name'),
        'description': wanted.get('description'),
        'size': spec.size,
        'share_proto': spec.proto,
        'is_public': bool(wanted.get('is_public')),
        'snapshot_id': wanted.get('snapshot_id'),
        'share_group_id': group.id if group else None,
        'source_share_group_snapshot_member_id': member,
        'mount_point_name': mount_point,
        'encryption_key_ref': wanted.get('encryption_key_ref'),
        **spec.abilities,
    }
    mount_points.insert_share(conn, values, spec.metadata)
    affinity.add_share(
        conn,
        share_id,
        ctx.project_id,
        {hint: spec.hints[hint] for hint in affinity.KEYS if hint in spec.hints},
    )
    instance = transitions.create(
        conn,
        states.SHARE,
        {
            'id': uuidutils.generate_uuid(),
            'share_id': share_id,
            'share_type_id': share_type.id,
            'progress': '0%',
            'availability_zone_id': spec.zone_id,
            'share_network_id': spec.network_id,
            'share_server_id': group.share_server_id if group else None,
            'access_rules_status': states.Rules.ACTIVE.value,
            'replica_state': share_requests.replica_state(spec.abilities),
        },
    )
    engine.begin(
        conn,
        ctx,
        'share.create',
        'share',
        share_id,
        topic='scheduler',
        mutex_key=instance['id'],
        unique_key=f'share:{share_id}',
        data=CreateShare(
            hints=spec.hints,
            zone=spec.zone,
            member=member,
            named_subnets=spec.named,
            zones_of_type=wanted.get('zones_of_type', True),
        ),
    )
    quotas.check(
        conn,
        ctx.conf,
        ctx.project_id,
        ctx.user_id,
        share_type.id,
        {**share_requests.quota_usage(spec.size, spec.abilities['replication_type']), **new_keys},
        one_share=spec.size,
        written=True,
    )
    return shares.as_inserted(values, instance, share_type.name, spec.zone)


def _source(
    conn: Connection, ctx: RequestContext, wanted: dict[str, Any]
) -> tuple[Row[Any], Row[Any]] | None:
    if not wanted.get('snapshot_id'):
        return None
    snapshot = snapshots.get(conn, ctx, wanted['snapshot_id'])
    if snapshot.status != 'available':
        raise errors.Invalid(f'snapshot_id: snapshot {snapshot.id} is {snapshot.status}, not available.')
    share = shares.get(conn, ctx.elevated(), snapshot.share_id)
    if not share.create_share_from_snapshot_support:
        raise errors.Invalid(
            f'snapshot_id: the share type of share {share.id} does not support shares from snapshots.'
        )
    return snapshot, share


def _type(
    conn: Connection, ctx: RequestContext, wanted: dict[str, Any], source: Any
) -> share_types.ShareType:
    name = wanted.get('share_type')
    if source and not name:
        return share_types.get(conn, ctx.elevated(), source[1].share_type_id)
    if not name:
        name = ctx.conf.default_share_type
        if not name:
            raise errors.Invalid('share_type: missing, and no default share type is configured.')
    try:
        return share_types.find(conn, ctx, name)
    except errors.NotFound:
        if not wanted.get('share_type'):
            raise errors.Invalid(f'share_type: the default share type {name!r} does not exist.') from None
        raise


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
        share_guards.must_have_no_replicas(conn, share)
        share_group_membership.must_be_in_no_group_snapshot(conn, share)
        if from_bin and not shares.is_in_bin(conn, share_id):
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


def extend(ctx: RequestContext, share_id: str, new_size: int, *, force: bool = False) -> None:
    """Begin to extend a share to ``new_size`` GiB, in ``extending``. Quota counts the growth from now on.

    ``force``: skip the scheduler.

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
            data=ResizeShare(size=share.size, new_size=new_size),
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
        if snapshots.latest_of(conn, share_id) != snapshot_id:
            raise errors.Conflict(
                f'snapshot_id: only the latest snapshot of share {share_id} can be reverted to.'
            )
        share_guards.must_be_placed(share)
        transitions.begin(conn, states.SHARE, 'revert', share.instance_id)
        share_bin.must_be_as_read(conn, share)
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
