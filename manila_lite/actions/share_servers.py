# SPDX-License-Identifier: Apache-2.0
"""What an administrator may ask of share servers."""

from collections.abc import Mapping
from typing import Any

from oslo_utils import uuidutils

from manila_lite import errors, operations, states
from manila_lite.actions import server_changes, subnets
from manila_lite.context import RequestContext
from manila_lite.db import operations as rows
from manila_lite.db import server_migrations, services, serving, share_networks, share_servers, transitions
from manila_lite.operations.removal import remove_server

#: Work on a server's life; an administrator's reset ends it.
_LIFE = tuple(f'share_server.{verb}' for verb in ('create', 'delete', 'manage', 'unmanage'))


def delete(ctx: RequestContext, ident: str) -> None:
    """The server stands in ``deleting`` and will go.

    :raises errors.WrongState: its status is none to delete from.
    :raises errors.Conflict: it has shares.
    """
    with ctx.db.writer() as conn:
        wake = remove_server(conn, ctx, share_servers.seen(conn, ctx, ident))
    wake.send(ctx)


def reset_status(ctx: RequestContext, ident: str, status: str) -> None:
    """The server shows ``status``; work that was open on it ends."""
    with ctx.db.writer() as conn:
        share_servers.seen(conn, ctx, ident)
        rows.drop_of(conn, ident, (*_LIFE, *server_changes.DOING))
        transitions.reset(conn, states.SHARE_SERVER, ident, status)


# Those that a backend has already -----------------------------------------------------------------

def manage(ctx: RequestContext, wanted: Mapping[str, Any]) -> str:
    """A share server that a backend has is being taken over. Returns its id here.

    Of two who ask for the same one at once the backend gives it to one; the other's ends in ``manage_error``.

    ``wanted``: host, share_network_id, identifier, and any of share_network_subnet_id and driver_options.

    :raises errors.NotFound: there is no such host, network or subnet.
    :raises errors.Invalid: the host is a pool or down, the subnet is not for its zone or one of several there, or the
        identifier is that of a server we have.
    :raises errors.WrongState: the network is not active.
    """
    identifier, network_id, ident = wanted['identifier'], wanted['share_network_id'], uuidutils.generate_uuid()
    options = {key: str(value) for key, value in (wanted.get('driver_options') or {}).items() if value is not None}
    with ctx.db.writer() as conn:
        service = _living(conn, ctx, wanted['host'])
        share_networks.get(conn, ctx, network_id)
        subnets.must_be_active(conn, network_id)
        subnet = _place(conn, network_id, wanted.get('share_network_subnet_id'), service)
        known = share_servers.named(conn, identifier)
        if known is not None:
            raise errors.Invalid(f'identifier: {identifier} is share server {known.id} on {known.host}.',
                                 code='identifier_in_use')
        share_servers.insert(conn, {'id': ident, 'share_network_id': network_id, 'host': service.host,
                                    'identifier': identifier, 'is_auto_deletable': False}, [subnet.id], 'manage')
        wake = _begin(conn, ctx, 'share_server.manage', ident, service.host,
                      {'identifier': identifier, 'options': options})
    wake.send(ctx)
    return ident


def _living(conn: Any, ctx: RequestContext, host: str) -> Any:
    if '#' in host:
        raise errors.Invalid(f'host: {host} names a pool; share servers are of host@backend.')
    service = services.get(conn, host, 'manila-share')
    if not services.is_up(service.heartbeat_at, service.stopped, ctx.conf.service_down_time):
        raise errors.Invalid(f'host: {host} is down.', code='backend_down')
    return service


def _place(conn: Any, network_id: str, subnet_id: str | None, service: Any) -> Any:
    """Return the one subnet of the network that a server of the service's zone is in, which is the one asked for."""
    places = serving.subnets_for(conn, network_id, service.availability_zone_id)
    if subnet_id is not None and subnet_id not in {subnet.id for subnet in places}:
        raise errors.Invalid(f'share_network_subnet_id: share network {network_id} has no subnet {subnet_id} for servers '
                             f'in availability zone {service.zone}, where {service.host} is.', code='subnet_not_there')
    if len(places) != 1:
        raise errors.Invalid(f'share_network_id: share network {network_id} has {len(places)} subnets for servers in '
                             f'availability zone {service.zone}; to manage one it must be one.', code='not_one_subnet')
    return places[0]


def _begin(conn: Any, ctx: RequestContext, kind: str, ident: str, host: str, data: dict[str, Any]) -> operations.Wake:
    return operations.begin(conn, ctx, kind, 'share_server', ident, topic='share', host=host, serial=f'server:{ident}',
                            open_key=f'server:{ident}', data=data)


def unmanage(ctx: RequestContext, ident: str, *, force: bool) -> None:
    """The server stands in ``unmanage_starting``: it will stay at its backend, and be unknown here.

    ``force``: also if the backend does not let go of it.

    :raises errors.WrongState: its status is none for this.
    :raises errors.Conflict: it has shares, or is encrypted.
    """
    with ctx.db.writer() as conn:
        server = share_servers.seen(conn, ctx, ident)
        # Behind the hold no share gets this server any more.
        share_networks.hold(conn, server.share_network_id, states.SHARE_NETWORK.statuses)
        if server.encryption_key_ref:
            raise errors.Conflict(f'Share server {ident} is encrypted with a key of ours.', code='share_server_encrypted')
        if serving.used(conn, ident) or server_migrations.is_half_moved(conn, ident):
            raise errors.Conflict(f'Share server {ident} has shares, or is being given some.', code='share_server_in_use')
        transitions.begin(conn, states.SHARE_SERVER, 'unmanage', ident)
        wake = _begin(conn, ctx, 'share_server.unmanage', ident, server.host, {'force': force})
    wake.send(ctx)
