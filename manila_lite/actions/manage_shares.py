# SPDX-License-Identifier: Apache-2.0
"""Actions to manage existing shares and snapshots of a backend, and to unmanage them."""

from collections.abc import Mapping
from typing import Any

from oslo_utils import uuidutils

from manila_lite import engine, errors, extra_specs, states, values
from manila_lite.actions import (
    encryption,
    mount_points,
    owners,
    resource_locks,
    share_bin,
    share_group_membership,
    share_guards,
    share_requests,
)
from manila_lite.actions import shares as share_actions
from manila_lite.actions import snapshots as snapshot_actions
from manila_lite.context import RequestContext
from manila_lite.db.core import transitions
from manila_lite.db.core.engine import Connection, Row
from manila_lite.db.queries import (
    export_locations,
    manage_shares,
    pool_reports,
    services,
    share_networks,
    share_server_queries,
    share_servers,
    share_types,
    shares,
    snapshots,
)
from manila_lite.operation_data.shares import ManageShare
from manila_lite.operation_data.snapshots import ManageSnapshot
from manila_lite.rpc import notifications
from manila_lite.values import pools

_SERVERS = 'driver_handles_share_servers'


# Shares -------------------------------------------------------------------------------------------


def manage_share(ctx: RequestContext, wanted: Mapping[str, Any]) -> Row[Any]:
    """Begin to manage an existing share of a backend; its size is not known yet. Return its row.

    If two requests for one share arrive at once, the backend grants one, and the other ends in ``manage_error``. Quota
    does not refuse a share that exists already; the log says so.

    ``wanted``: service_host, protocol, export_path, and any of share_type, driver_options, name, description,
    is_public, share_server_id, mount_point_name.

    :raises errors.Unprocessable: one of the first three is missing.
    :raises errors.NotFound: there is no such backend or share type.
    :raises errors.Invalid: the pool or the share type does not fit, or there is no such share server.
    :raises errors.Conflict: the share or its mount point name is known already, or the share server cannot export it.
    """
    _must_have(wanted, 'service_host', 'protocol', 'export_path')
    share_requests.check_public(ctx, wanted)
    host, path, share_id = wanted['service_host'], wanted['export_path'], uuidutils.generate_uuid()
    with ctx.db.writer() as conn:
        service, pool = _get_service_and_pool(conn, ctx, host)
        share_type = _type(conn, ctx, wanted)
        share_requests.must_have_qos(conn, share_type)
        _must_fit(share_type, service, pool)
        server = _server(conn, ctx, share_type, service, wanted.get('share_server_id'))
        key = _key(share_type, server)
        mount_point = mount_points.full_name(share_type, ctx.project_id or '', wanted.get('mount_point_name'))
        if known := manage_shares.find_managed_share(conn, service.host, path):
            raise errors.Exists(
                f'export_path: {path} on {service.host} is {_describe(ctx, "share", known)}.',
                code='share_already_managed',
            )
        mount_points.insert_share(
            conn,
            {
                'id': share_id,
                'project_id': ctx.project_id,
                'user_id': ctx.user_id,
                'name': wanted.get('name'),
                'description': wanted.get('description'),
                'size': 0,
                'share_proto': wanted['protocol'].upper(),
                'is_public': bool(wanted.get('is_public')),
                'mount_point_name': mount_point,
                'encryption_key_ref': key,
                **share_requests.abilities(share_type),
            },
            {},
        )
        instance = transitions.create(
            conn,
            states.SHARE,
            {
                'id': uuidutils.generate_uuid(),
                'share_id': share_id,
                'share_type_id': share_type.id,
                'progress': '0%',
                'host': host,
                'availability_zone_id': service.availability_zone_id,
                'access_rules_status': states.Rules.ACTIVE.value,
                'replica_state': share_requests.replica_state(share_requests.abilities(share_type)),
                'share_network_id': server.share_network_id if server else None,
                'share_server_id': server.id if server else None,
            },
            'manage',
        )
        export_locations.set_of_instances(conn, {instance['id']: [values.ExportLocation(path)]})
        row = shares.get(conn, ctx, share_id)
        share_actions.begin_at_backend(
            conn, ctx, 'share.manage', row, ManageShare(export_path=path, options=_options(wanted))
        )
    notifications.emit(ctx, 'share.manage.start', {'share_id': share_id, 'host': host, 'export_path': path})
    return row


def _must_have(wanted: Mapping[str, Any], *names: str) -> None:
    if missing := [name for name in names if not wanted.get(name)]:
        raise errors.Unprocessable(f'{missing[0]}: missing.')


def _describe(ctx: RequestContext, resource_type: str, known: Any) -> str:
    """Return the words for a resource that is managed already, without its id if another project has it."""
    return (
        f'managed already, as {resource_type} {known.id}' if ctx.sees(known.project_id) else 'managed already'
    )


def _options(wanted: Mapping[str, Any]) -> dict[str, str]:
    return {
        key: str(value) for key, value in (wanted.get('driver_options') or {}).items() if value is not None
    }


def _get_service_and_pool(conn: Connection, ctx: RequestContext, host: str) -> tuple[Any, Any]:
    """Return the service and the pool of ``host@backend#pool``."""
    backend, separator, _ = host.partition('#')
    if not separator:
        raise errors.Invalid(f'service_host: {host} names no pool; give host@backend#pool.')
    service = services.get(conn, backend, 'manila-share')
    if not services.is_up(service, ctx.conf.service_down_time):
        raise errors.Invalid(f'service_host: {backend} is down.', code='backend_down')
    found = pool_reports.list_pools(conn, [host])
    if not found:
        raise errors.Invalid(f'service_host: {backend} reports no pool {host}.', code='pool_not_found')
    return service, found[0]


def _type(conn: Connection, ctx: RequestContext, wanted: Mapping[str, Any]) -> share_types.ShareType:
    name = wanted.get('share_type') or ctx.conf.default_share_type
    if not name:
        raise errors.Invalid('share_type: missing, and no default share type is configured.')
    return share_types.find(conn, ctx, name)


def _must_fit(share_type: share_types.ShareType, service: Row[Any], pool: Row[Any]) -> None:
    asked = extra_specs.capability_specs(share_type.extra_specs)
    if why := next(extra_specs.unmet_capabilities(asked, pools.capabilities(pool)), None):
        raise errors.Invalid(
            f'share_type: {share_type.name} does not fit pool {pool.host}: {why}.', code='share_type_unfit'
        )
    if not extra_specs.is_offered(share_type.extra_specs, service.zone):
        raise errors.Invalid(
            f'share_type: {share_type.name} is not offered in {service.zone}, where {service.host} is.',
            code='share_type_unfit',
        )


def _server(
    conn: Connection,
    ctx: RequestContext,
    share_type: share_types.ShareType,
    service: Row[Any],
    server_id: str | None,
) -> Row[Any] | None:
    """Return the share server that will export the share. Its share network is held until the transaction ends."""
    if not share_requests.is_spec_true(share_type, _SERVERS):
        if server_id:
            raise errors.Invalid(f'share_server_id: share type {share_type.name} does not use share servers.')
        return None
    if not server_id:
        raise errors.Invalid(f'share_server_id: missing; share type {share_type.name} needs a share server.')
    try:
        server = share_servers.get_visible(conn, ctx, server_id)
        share_networks.lock(conn, server.share_network_id, states.SHARE_NETWORK.statuses)
        server = share_servers.get_visible(conn, ctx, server_id)
    except errors.NotFound as gone:
        raise errors.Invalid(f'share_server_id: {gone}', code='bad_share_server') from None
    if server.host != service.host or server.status != 'active':
        raise errors.Conflict(
            f'share_server_id: share server {server_id} is {server.status} on {server.host}; it must '
            f'be active on {service.host}.',
            code='bad_share_server',
        )
    return server


def _key(share_type: share_types.ShareType, server: Row[Any] | None) -> str | None:
    """Return the id of the key that all shares on the server are encrypted with, or None."""
    if server is None:
        return None
    key: str | None = server.encryption_key_ref
    if key and not encryption.encrypts_servers(share_type):
        raise errors.Conflict(
            f'share_server_id: share server {server.id} is encrypted, but share type '
            f'{share_type.name} does not use encrypted share servers.',
            code='bad_share_server',
        )
    return key


def unmanage_share(ctx: RequestContext, share_id: str, *, on_servers: bool = True) -> None:
    """Begin to unmanage a share, in ``unmanage_starting``. Its data stays at the backend.

    ``on_servers`` off: refuse a share on a share server.

    :raises errors.WrongState: the share's status does not allow it, or the share is being migrated.
    :raises errors.Forbidden: the share is locked, in the recycle bin or in a group snapshot, has snapshots or backups,
        or is on a share server.
    :raises errors.Conflict: the share has replicas, or a second instance that a migration left.
    """
    with ctx.db.writer() as conn:
        share = shares.get(conn, ctx, share_id, own=True)
        share_bin.must_be_out(share)
        _must_be_manageable(share, on_servers)
        share_guards.must_not_be_migrating(conn, share)
        if share.share_server_id:
            share_networks.lock(conn, share.share_network_id, states.SHARE_NETWORK.statuses)
        transitions.begin(conn, states.SHARE, 'unmanage', share.instance_id)
        # After the transition: no lock can be placed and no snapshot can begin any more.
        resource_locks.refuse_if_locked(conn, ctx, share_id, 'be unmanaged')
        share_guards.must_have_no_replicas(conn, share)
        share_group_membership.must_be_in_no_group_snapshot(conn, share)
        share_guards.must_have_no_backups(conn, share_id)
        if count := snapshots.count_of(conn, share_id):
            raise errors.Forbidden(
                f'Share {share_id} has {errors.count(count, "snapshot")}; unmanage or delete '
                f'{errors.them(count)} first.',
                code='share_has_snapshots',
            )
        if shares.list_second_instances(conn, share_id=share_id):
            raise errors.Conflict(
                f'Share {share_id} has a second instance that a migration left; delete that first.',
                code='share_has_instances',
            )
        if share.share_server_id:  # deleting the server would delete the share's data
            share_server_queries.update(conn, share.share_server_id, is_auto_deletable=False)
        share_actions.begin_at_backend(conn, ctx, 'share.unmanage', share)
    notifications.emit(ctx, 'share.unmanage.start', {'share_id': share_id, 'host': share.host})


def _must_be_manageable(share: Row[Any], on_servers: bool) -> None:
    share_guards.must_be_placed(share)
    if share.share_server_id and not on_servers:
        raise errors.Forbidden(
            f'Share {share.id} is on a share server; this request then needs microversion 2.49.',
            code='share_on_share_server',
        )


# Snapshots ----------------------------------------------------------------------------------------


def manage_snapshot(
    ctx: RequestContext, wanted: Mapping[str, Any], *, on_servers: bool = True
) -> tuple[Row[Any], dict[str, str]]:
    """Begin to manage an existing snapshot of a share. Return its row, and its metadata, which is empty.

    ``wanted``: share_id, provider_location, and any of driver_options, name, description.

    :raises errors.Unprocessable: one of the first two is missing.
    :raises errors.Invalid: the share's type does not support snapshots.
    :raises errors.Conflict: the snapshot is known already, or the share is not available, or has replicas.
    """
    _must_have(wanted, 'share_id', 'provider_location')
    snapshot_id, location = uuidutils.generate_uuid(), wanted['provider_location']
    with ctx.db.writer() as conn:
        share = shares.get(conn, ctx, wanted['share_id'], own=True)
        share_bin.must_be_out(share)
        _must_be_manageable(share, on_servers)
        share_guards.must_support_snapshots(share)
        if not snapshots.lock_share(conn, share.instance_id, ('available',)):
            raise errors.WrongState(f'share_id: share {share.id} is {share.status}; it must be available.')
        share_guards.must_have_no_replicas(conn, share)
        share_group_membership.must_have_settled_group(conn, share)
        if known := manage_shares.find_managed_snapshot(conn, engine.backend_of(share.host), location):
            raise errors.Exists(
                f'provider_location: {location} is {_describe(ctx, "snapshot", known)}.',
                code='snapshot_already_managed',
            )
        transitions.create(
            conn,
            states.SNAPSHOT,
            {
                'id': snapshot_id,
                'share_id': share.id,
                **owners.of_part(ctx, share)._asdict(),
                'name': wanted.get('name'),
                'description': wanted.get('description'),
                'size': share.size,
                'share_size': share.size,
                'share_proto': share.share_proto,
                'progress': '0%',
                'provider_location': location,
            },
            'manage',
        )
        snapshot_actions.begin_at_backend(
            conn, ctx, 'snapshot.manage', snapshot_id, share, ManageSnapshot(options=_options(wanted))
        )
        return snapshots.get(conn, ctx, snapshot_id), {}


def unmanage_snapshot(ctx: RequestContext, snapshot_id: str, *, on_servers: bool = True) -> None:
    """Begin to unmanage a snapshot, in ``unmanage_starting``. It stays at its backend.

    :raises errors.WrongState: the snapshot's status does not allow it, or a share is being made from it.
    :raises errors.Forbidden: a share server exports its share, and ``on_servers`` is off.
    :raises errors.Conflict: its share has replicas, and one of them may be promoted meanwhile.
    """
    with ctx.db.writer() as conn:
        snapshots.get(conn, ctx, snapshot_id)
        share = snapshots.share_of(conn, snapshot_id)
        _must_be_manageable(share, on_servers)
        snapshot_actions.lock_share_for_snapshots(conn, share)
        share_guards.must_have_no_replicas(conn, share)
        transitions.begin(conn, states.SNAPSHOT, 'unmanage', snapshot_id)
        snapshot_actions.must_not_be_in_use(conn, snapshot_id)
        snapshot_actions.begin_at_backend(conn, ctx, 'snapshot.unmanage', snapshot_id, share)
