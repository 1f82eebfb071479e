# SPDX-License-Identifier: Apache-2.0
"""Actions on share groups. Each checks, writes the row and its operation in one transaction, and wakes the worker."""

from collections.abc import Mapping, Sequence
from typing import Any

from oslo_utils import uuidutils

from manila_lite import engine, errors, states
from manila_lite.actions import (
    default_networks,
    share_creation,
    share_group_membership,
    share_requests,
    superseding,
)
from manila_lite.context import RequestContext
from manila_lite.db.core import transitions
from manila_lite.db.core.engine import Connection, Row
from manila_lite.db.queries import (
    quotas,
    services,
    share_group_snapshots,
    share_group_types,
    share_groups,
    share_networks,
    share_types,
)
from manila_lite.operation_data.share_groups import CreateGroup
from manila_lite.rpc import notifications

_LIFE = ('share_group.create', 'share_group.delete')


def create(ctx: RequestContext, wanted: Mapping[str, Any]) -> Row[Any]:
    """Begin a share group, in ``creating``. Return its row.

    From a group snapshot, one share is created for each of its members. ``wanted``: any of name, description,
    share_group_type_id, share_types, share_network_id, availability_zone and source_share_group_snapshot_id.

    :raises errors.Invalid: a value does not fit the group type or the group snapshot, or a share type, network or group
        snapshot does not exist.
    :raises errors.NotFound: a group type or zone does not exist.
    :raises errors.Conflict: the group snapshot is not available.
    :raises errors.OverQuota: see ``db/queries/quotas.py``.
    """
    group_id = uuidutils.generate_uuid()
    named = default_networks.is_missing(ctx, wanted.get('share_network_id'))
    with ctx.db.writer() as conn:
        source = _source(conn, ctx, wanted)
        group_type = _group_type(conn, ctx, wanted, source)
        chosen_types = _share_types(conn, ctx, wanted, group_type, source)
        zone = source.availability_zone if source else wanted.get('availability_zone')
        zone_id = services.zone_id(conn, zone) if zone else None
        network_id = _network(conn, ctx, wanted, chosen_types, source)
        if not source:
            _must_be_offered(conn, chosen_types, network_id, (zone, zone_id), named=named)
        quotas.check(conn, ctx.conf, ctx.project_id, ctx.user_id, None, {'share_groups': 1})
        transitions.create(
            conn,
            states.SHARE_GROUP,
            {
                'id': group_id,
                'project_id': ctx.project_id,
                'user_id': ctx.user_id,
                'name': wanted.get('name'),
                'description': wanted.get('description'),
                'share_group_type_id': group_type.id,
                'share_network_id': network_id,
                'availability_zone_id': zone_id,
                'source_share_group_snapshot_id': wanted.get('source_share_group_snapshot_id'),
                **(
                    {
                        name: getattr(source, name)
                        for name in ('host', 'share_server_id', 'consistent_snapshot_support')
                    }
                    if source
                    else {}
                ),
            },
        )
        share_groups.set_share_types(conn, group_id, [share_type.id for share_type in chosen_types])
        engine.begin(
            conn,
            ctx,
            'share_group.create',
            'share_group',
            group_id,
            mutex_key=group_id,
            topic='share' if source else 'scheduler',
            host=source.host if source else '',
            unique_key=f'share_group:{group_id}',
            data=CreateGroup(zone=zone, named_subnets=named),
        )
        row = share_groups.get(conn, ctx, group_id)
        if source:
            _begin_shares(conn, ctx, wanted['source_share_group_snapshot_id'], row)
    notifications.emit(
        ctx, 'share_group.create.start', {'share_group_id': group_id, 'share_group_type_id': group_type.id}
    )
    return row


def _source(conn: Connection, ctx: RequestContext, wanted: Mapping[str, Any]) -> Row[Any] | None:
    """Return the group of the group snapshot, whose properties the new group takes over, or None."""
    group_snapshot_id = wanted.get('source_share_group_snapshot_id')
    if not group_snapshot_id:
        return None
    if wanted.get('share_types'):
        raise errors.Invalid('share_types: not allowed together with source_share_group_snapshot_id.')
    with errors.in_request('source_share_group_snapshot_id'):
        snapshot = share_group_snapshots.get(conn, ctx, group_snapshot_id)
    if not share_group_snapshots.lock(conn, group_snapshot_id, ('available',)):
        raise errors.WrongState(
            f'source_share_group_snapshot_id: share group snapshot {group_snapshot_id} is '
            f'{snapshot.status}, not available.'
        )
    group = share_groups.get(conn, ctx, snapshot.share_group_id)
    if wanted.get('availability_zone') not in (None, group.availability_zone):
        raise errors.Invalid(
            f'availability_zone: must be {group.availability_zone or "null"}, the zone of the group snapshot.'
        )
    return group


def _group_type(
    conn: Connection, ctx: RequestContext, wanted: Mapping[str, Any], source: Row[Any] | None
) -> share_group_types.ShareGroupType:
    group_type_id = wanted.get('share_group_type_id')
    if source:
        if group_type_id not in (None, source.share_group_type_id):
            raise errors.Invalid(
                f'share_group_type_id: must be {source.share_group_type_id}, the type of the group snapshot.'
            )
        return share_group_types.get(conn, ctx.elevated(), source.share_group_type_id)
    if group_type_id:
        return share_group_types.get(conn, ctx, group_type_id)
    name = ctx.conf.default_share_group_type
    if not name:
        raise errors.Invalid('share_group_type_id: missing, and no default share group type is configured.')
    try:
        return share_group_types.find(conn, ctx, name)
    except errors.NotFound:
        raise errors.Invalid(
            f'share_group_type_id: the default share group type {name!r} does not exist.'
        ) from None


def _share_types(
    conn: Connection,
    ctx: RequestContext,
    wanted: Mapping[str, Any],
    group_type: share_group_types.ShareGroupType,
    source: Row[Any] | None,
) -> list[share_types.ShareType]:
    if source:
        names = share_groups.share_types_of(conn, (source.id,)).get(source.id, [])
        return [share_types.get(conn, ctx.elevated(), name) for name in names]
    names = wanted.get('share_types') or [name for name in (ctx.conf.default_share_type,) if name]
    if not names:
        raise errors.Invalid('share_types: missing, and no default share type is configured.')
    chosen_types = {
        share_type.id: share_type for share_type in (_share_type(conn, ctx, name) for name in names)
    }
    if strange := [
        share_type_id for share_type_id in chosen_types if share_type_id not in group_type.share_types
    ]:
        raise errors.Invalid(
            f'share_types: share group type {group_type.name} has no share type {", ".join(strange)}.'
        )
    return list(chosen_types.values())


def _share_type(conn: Connection, ctx: RequestContext, name: str) -> share_types.ShareType:
    try:
        return share_types.find(conn, ctx, name)
    except errors.NotFound:
        raise errors.Invalid(f'share_types: there is no share type {name}.') from None


def _network(
    conn: Connection,
    ctx: RequestContext,
    wanted: Mapping[str, Any],
    chosen_types: Sequence[share_types.ShareType],
    source: Row[Any] | None,
) -> str | None:
    """Return the share network of the group, held until the transaction ends."""
    served = {
        share_requests.is_spec_true(share_type, 'driver_handles_share_servers') for share_type in chosen_types
    }
    if len(served) > 1:
        raise errors.Invalid(
            'share_types: all or none of them must use share networks (driver_handles_share_servers).'
        )
    network_id = wanted.get('share_network_id')
    if source and network_id not in (None, source.share_network_id):
        raise errors.Invalid(
            f'share_network_id: must be {source.share_network_id or "null"}, the share network of the '
            'group snapshot.'
        )
    network_id = source.share_network_id if source else network_id
    if served == {False}:
        if network_id:
            raise errors.Invalid('share_network_id: the share types do not use share networks.')
        return None
    if not network_id:
        raise errors.Invalid('share_network_id: missing; the share types need a share network.')
    with errors.in_request('share_network_id'):
        share_networks.get(conn, ctx, network_id)
    share_requests.must_have_active_network(conn, network_id)
    return str(network_id)


def _must_be_offered(
    conn: Connection,
    chosen_types: Sequence[share_types.ShareType],
    network_id: str | None,
    zone: tuple[str | None, str | None],
    *,
    named: bool,
) -> None:
    """Refuse share types not offered in the zone (its name and id), and a network without a subnet in the zone.

    ``named``: as for ``share_requests.must_have_subnet``.
    """
    for share_type in chosen_types:
        share_requests.must_be_offered(share_type, zone[0])
    if network_id:
        share_requests.must_have_subnet(conn, network_id, *zone, named=named)


def _begin_shares(conn: Connection, ctx: RequestContext, snapshot_id: str, group: Row[Any]) -> None:
    """Begin a share of the new group for every member of the group snapshot."""
    for member, share in share_group_snapshots.with_shares(conn, snapshot_id):
        share_type = share_types.get(conn, ctx.elevated(), share.share_type_id)
        if not share.create_share_from_snapshot_support:
            raise errors.Invalid(
                f'source_share_group_snapshot_id: the share type of share {share.id} does not support '
                'shares from snapshots.'
            )
        spec = share_requests.ShareRequest(
            member.size,
            member.share_proto,
            group.availability_zone,
            group.availability_zone_id,
            group.share_network_id,
            {},
            share_requests.abilities(share_type),
            {},
        )
        share_creation.begin_create(
            conn,
            ctx,
            {'name': share.name, 'description': share.description},
            share_type,
            spec,
            group,
            member.id,
        )


def update(ctx: RequestContext, group_id: str, values: Mapping[str, Any]) -> Row[Any]:
    """Change a group's name or description. Return its row."""
    with ctx.db.writer() as conn:
        share_groups.get(conn, ctx, group_id)
        share_groups.update(conn, group_id, **values)
        return share_groups.get(conn, ctx, group_id)


def delete(ctx: RequestContext, group_id: str, *, force: bool = False) -> None:
    """Begin to delete a group, in ``deleting``. It counts against quota until it is gone.

    :raises errors.WrongState: the group's status does not allow it (``force``: any status does).
    :raises errors.Conflict: the group has shares or snapshots.
    """
    with ctx.db.writer() as conn:
        row = share_groups.get(conn, ctx, group_id)
        superseding.begin_delete(conn, states.SHARE_GROUP, group_id, _LIFE, force=force)
        share_group_membership.must_be_empty(conn, group_id)
        engine.begin(
            conn,
            ctx,
            'share_group.delete',
            'share_group',
            group_id,
            topic='scheduler',
            mutex_key=group_id,
            unique_key=f'share_group:{group_id}',
            owner=row.project_id,
        )
    notifications.emit(ctx, 'share_group.delete.start', {'share_group_id': group_id})


def reset_status(ctx: RequestContext, group_id: str, status: str) -> None:
    """Set a group's status. Its open operations end."""
    with ctx.db.writer() as conn:
        share_groups.get(conn, ctx, group_id)
        superseding.reset(conn, states.SHARE_GROUP, group_id, status, _LIFE)
