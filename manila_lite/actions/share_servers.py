# SPDX-License-Identifier: Apache-2.0
"""Actions on share servers."""

from collections.abc import Mapping
from typing import Any

from oslo_utils import uuidutils

from manila_lite import engine, errors, states
from manila_lite.actions import share_network_subnets, share_server_updates, superseding
from manila_lite.context import RequestContext
from manila_lite.db.core import transitions
from manila_lite.db.core.engine import Connection, Row
from manila_lite.db.queries import (
    services,
    share_networks,
    share_server_migration,
    share_server_queries,
    share_servers,
    unused_share_servers,
)
from manila_lite.operation_data import OperationData
from manila_lite.operation_data.share_servers import ManageServer, UnmanageServer
from manila_lite.workflow.share_servers import remove_server

#: Operations that create or remove a server; an administrator's reset ends them.
_LIFE = tuple(f'share_server.{verb}' for verb in ('create', 'delete', 'manage', 'unmanage'))


def delete(ctx: RequestContext, server_id: str) -> None:
    """Begin to delete a share server, in ``deleting``.

    :raises errors.WrongState: the server's status does not allow it.
    :raises errors.Conflict: the server has shares.
    """
    with ctx.db.writer() as conn:
        remove_server(conn, ctx, share_servers.get_visible(conn, ctx, server_id))


def reset_status(ctx: RequestContext, server_id: str, status: str) -> None:
    """Set a share server's status. Its open operations end."""
    with ctx.db.writer() as conn:
        share_servers.get_visible(conn, ctx, server_id)
        superseding.reset(conn, states.SHARE_SERVER, server_id, status, (*_LIFE, *share_server_updates.DOING))


# Manage and unmanage ------------------------------------------------------------------------------


def manage(ctx: RequestContext, wanted: Mapping[str, Any]) -> str:
    """Begin to manage an existing share server of a backend. Return its new id.

    If two requests for one server arrive at once, the backend grants one, and the other ends in ``manage_error``.

    ``wanted``: host, share_network_id, identifier, and any of share_network_subnet_id and driver_options.

    :raises errors.NotFound: there is no such host, network or subnet.
    :raises errors.Invalid: the host is a pool or down, the subnet is not for its zone or one of several there, or the
        identifier is that of a known server.
    :raises errors.WrongState: the network is not active.
    """
    identifier, network_id, server_id = (
        wanted['identifier'],
        wanted['share_network_id'],
        uuidutils.generate_uuid(),
    )
    options = {
        key: str(value) for key, value in (wanted.get('driver_options') or {}).items() if value is not None
    }
    with ctx.db.writer() as conn:
        service = _get_service(conn, ctx, wanted['host'])
        share_networks.get(conn, ctx, network_id)
        share_network_subnets.must_be_active(conn, network_id)
        subnet = _get_subnet(conn, network_id, wanted.get('share_network_subnet_id'), service)
        known = share_servers.find_by_identifier(conn, identifier)
        if known is not None:
            named = f', as share server {known.id} on {known.host}' if ctx.sees(known.project_id) else ''
            raise errors.Invalid(
                f'identifier: {identifier} is managed already{named}.', code='identifier_in_use'
            )
        share_servers.insert(
            conn,
            {
                'id': server_id,
                'share_network_id': network_id,
                'host': service.host,
                'identifier': identifier,
                'is_auto_deletable': False,
            },
            [subnet.id],
            'manage',
        )
        _begin(
            conn,
            ctx,
            'share_server.manage',
            server_id,
            service.host,
            ManageServer(identifier=identifier, options=options),
        )
    return server_id


def _get_service(conn: Connection, ctx: RequestContext, host: str) -> Row[Any]:
    if '#' in host:
        raise errors.Invalid(f'host: {host} names a pool; share servers are of host@backend.')
    service = services.get(conn, host, 'manila-share')
    if not services.is_up(service, ctx.conf.service_down_time):
        raise errors.Invalid(f'host: {host} is down.', code='backend_down')
    return service


def _get_subnet(conn: Connection, network_id: str, subnet_id: str | None, service: Row[Any]) -> Row[Any]:
    """Return the network's one subnet for servers in the service's zone, and check that it is ``subnet_id``, if given."""
    subnets = share_server_queries.subnets_for(conn, network_id, service.availability_zone_id)
    if subnet_id is not None and subnet_id not in {subnet.id for subnet in subnets}:
        raise errors.Invalid(
            f'share_network_subnet_id: share network {network_id} has no subnet {subnet_id} for servers '
            f'in the zone of {service.host}.',
            code='subnet_not_there',
        )
    if len(subnets) != 1:
        raise errors.Invalid(
            f'share_network_id: share network {network_id} has {errors.count(len(subnets), "subnet")} '
            f'for servers in the zone of {service.host}; there must be exactly one.',
            code='not_one_subnet',
        )
    return subnets[0]


def _begin(
    conn: Connection, ctx: RequestContext, kind: str, server_id: str, host: str, data: OperationData
) -> None:
    engine.begin(
        conn,
        ctx,
        kind,
        'share_server',
        server_id,
        topic='share',
        host=host,
        mutex_key=f'server:{server_id}',
        unique_key=f'server:{server_id}',
        data=data,
    )


def unmanage(ctx: RequestContext, server_id: str, *, force: bool) -> None:
    """Begin to unmanage a share server, in ``unmanage_starting``. It stays at its backend.

    ``force``: unmanage it even if the backend refuses.

    :raises errors.WrongState: the server's status does not allow it.
    :raises errors.Conflict: the server has shares, or is encrypted.
    """
    with ctx.db.writer() as conn:
        server = share_servers.get_visible(conn, ctx, server_id)
        # While the network is held, no share is placed on this server.
        share_networks.lock(conn, server.share_network_id, states.SHARE_NETWORK.statuses)
        if server.encryption_key_ref:
            raise errors.Conflict(
                f'Share server {server_id} is encrypted with a key of this service.',
                code='share_server_encrypted',
            )
        if unused_share_servers.is_used(conn, server_id) or share_server_migration.is_half_moved(
            conn, server_id
        ):
            raise errors.Conflict(
                f'Share server {server_id} has shares, or shares are being created on it.',
                code='share_server_in_use',
            )
        transitions.begin(conn, states.SHARE_SERVER, 'unmanage', server_id)
        _begin(conn, ctx, 'share_server.unmanage', server_id, server.host, UnmanageServer(force=force))
