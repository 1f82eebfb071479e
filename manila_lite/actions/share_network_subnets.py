# SPDX-License-Identifier: Apache-2.0
"""Actions on the subnets of a share network."""

import contextlib
from collections.abc import Iterable, Mapping
from typing import Any

from oslo_log import log
from oslo_utils import uuidutils

from manila_lite import errors, states
from manila_lite.actions import network_deletion, share_server_updates
from manila_lite.context import RequestContext
from manila_lite.db.core import key_values, limits
from manila_lite.db.core.engine import Connection, Row
from manila_lite.db.models import share_network_subnet_metadata
from manila_lite.db.queries import (
    services,
    share_network_subnets,
    share_networks,
    share_server_queries,
    share_servers,
)
from manila_lite.network import load
from manila_lite.network.interface import NetworkPlugin, Subnet, overlap
from manila_lite.operation_data.share_servers import AddSubnet, CheckSubnet
from manila_lite.values import ServerNetwork
from manila_lite.workflow import network_allocations

LOG = log.getLogger(__name__)

#: Fields that are the same if a request is repeated.
_SAME = ('neutron_net_id', 'neutron_subnet_id', 'wanted_net_id', 'wanted_subnet_id')

#: How often other requests may take addresses that were free.
_TRIES = 5


class _Taken(Exception):
    """Others took the addresses that were free."""


def create(
    ctx: RequestContext, network_id: str, wanted: Mapping[str, Any], *, several: bool
) -> tuple[Any, dict[str, str]]:
    """Add a subnet to a share network. Return its row and its metadata.

    ``wanted``: any of neutron_net_id, neutron_subnet_id, availability_zone, metadata. Without a zone the subnet is for
    every zone that has no subnet of its own. ``several``: a zone may have more than one.

    Share servers in the zone get an allocation in the subnet, too; their backends are asked first. A subnet that is there
    already with an error is tried again, for the servers that are not in it. One that names no network, where several may
    be in a zone, becomes this one.

    :raises errors.Invalid: one id without the other, ids that the network plugin does not know, an unknown zone.
    :raises errors.Conflict: the network is not active, the zone has a subnet and ``several`` is off, the subnet
        overlaps with another, or a share server there is not healthy or cannot take the subnet.
    :raises errors.OverLimit: the network has as many as it may have, or the subnet would have too much metadata.
    """
    with ctx.db.reader() as conn:
        project_id = share_networks.get(conn, ctx, network_id).project_id
    subnet_values = describe(ctx, wanted, project_id)
    with ctx.db.reader() as conn:
        question = _examined(conn, ctx, network_id, wanted, subnet_values, several)
    answers = share_server_updates.must_be_possible(ctx, question)
    plugin = load.make(ctx.conf) if question.servers else None
    for _ in range(_TRIES):
        with contextlib.suppress(_Taken), ctx.db.writer() as conn:
            must_be_active(conn, network_id)
            now = _examined(conn, ctx, network_id, wanted, subnet_values, several)
            share_server_updates.must_be_unchanged(question, now)
            zone_id = get_zone_id(conn, wanted.get('availability_zone'))
            subnet_id = now.data.network.subnet_id
            if subnet_id:
                metadata = _renew(conn, subnet_id, subnet_values, wanted)
            else:
                metadata = dict(wanted.get('metadata') or {})
                subnet_id = insert(conn, network_id, zone_id, subnet_values, metadata)
            share_server_updates.begin(
                conn, ctx, question, AddSubnet(network_id=network_id, subnet_id=subnet_id)
            )
            share_server_queries.add_to_subnet(conn, [server.id for server in question.servers], subnet_id)
            row = share_network_subnets.get(conn, network_id, subnet_id)
            if plugin is not None and not plugin.REMOTE:
                _reserve(conn, plugin, row, question, answers, project_id)
            break
    else:
        raise errors.Conflict(
            f'neutron_subnet_id: other requests took the free addresses of {subnet_values["neutron_subnet_id"]}.',
            code='changed_meanwhile',
        )
    return row, metadata


def _renew(
    conn: Connection, subnet_id: str, subnet_values: Mapping[str, Any], wanted: Mapping[str, Any]
) -> dict[str, str]:
    """Forget the error of a subnet that is tried again, and store its new values. Return its metadata.

    Servers in it have addresses of its old place, if it had one.
    """
    is_held = share_network_subnets.count_servers(conn, (subnet_id,)) and share_network_subnets.names_network(
        conn, subnet_id
    )
    new = {} if is_held else subnet_values
    share_network_subnets.update(conn, subnet_id, error=None, **new)
    if wanted.get('metadata'):
        key_values.replace(conn, share_network_subnet_metadata, subnet_id, wanted['metadata'])
    return key_values.of(conn, share_network_subnet_metadata, subnet_id)


def _reserve(
    conn: Connection,
    plugin: NetworkPlugin,
    subnet: Row[Any],
    question: share_server_updates.UpdateCheck[CheckSubnet],
    answers: Mapping[str, CheckSubnet],
    project_id: str,
) -> None:
    """Give each share server its addresses in the subnet, before another request takes the last ones.

    :raises errors.Conflict: the subnet has too few free addresses.
    """
    # A share manager of the release before does not say how many it needs; it allocates them later.
    needs = {server.id: answers[server.host].each for server in question.servers}
    try:
        stored = network_allocations.reserve(conn, plugin, subnet, needs, project_id)
    except errors.Final as full:
        raise share_server_updates.denied(question, question.hosts, str(full)) from full
    if not stored:
        raise _Taken


def check(
    ctx: RequestContext, network_id: str, wanted: Mapping[str, Any], *, reset: bool
) -> dict[str, bool | None] | None:
    """Ask every backend of the network's share servers whether it can add the subnet.

    Return each backend's answer: yes, no or None for not yet. Callers repeat the call. ``reset``: ask again. The result
    is None if no backend could be asked yet, since too many requests wait for networks.

    :raises: as ``create``.
    """
    with ctx.db.reader() as conn:
        project_id = share_networks.get(conn, ctx, network_id).project_id
    try:
        subnet_values = describe(ctx, wanted, project_id)
    except errors.Busy:
        if reset:  # a repeated call would take an old answer for the new one
            raise
        return None
    with ctx.db.reader() as conn:
        question = _examined(conn, ctx, network_id, wanted, subnet_values, several=True)
    return share_server_updates.ask_backends(ctx, question, reset=reset)


def _examined(
    conn: Connection,
    ctx: RequestContext,
    network_id: str,
    wanted: Mapping[str, Any],
    subnet_values: Mapping[str, Any],
    several: bool,
) -> share_server_updates.UpdateCheck[CheckSubnet]:
    network = share_networks.get(conn, ctx, network_id)
    must_look_active(network)
    zone_id = get_zone_id(conn, wanted.get('availability_zone'))
    there = share_network_subnets.of_network(conn, network_id)
    beside = [subnet for subnet in there if subnet.availability_zone_id == zone_id]
    renewed = _failed_before(beside, subnet_values) or (_without_network(beside) if several else None)
    if renewed is None:
        limits.check_one_more(ctx.conf, 'subnets', f'share network {network_id}', len(there))
    limits.check(ctx.conf, 'metadata_items', 'the subnet', 0, len(wanted.get('metadata') or {}))
    beside = [subnet for subnet in beside if subnet is not renewed]
    if beside and not several:
        raise errors.Conflict(
            f'availability_zone: share network {network_id} already has subnet {beside[0].id} in this '
            'zone; several subnets in a zone need microversion 2.70.',
            code='zone_has_subnet',
        )
    if not subnet_values['in_default_network']:
        _must_not_overlap(subnet_values, beside)
    about = f'{zone_id or "any"}/{subnet_values["neutron_net_id"]}/{subnet_values["neutron_subnet_id"]}'
    servers, renewed_id = _servers(conn, beside, renewed), renewed.id if renewed else ''
    described = {name: subnet_values[name] for name in network_allocations.DESCRIBED}
    question = share_server_updates.UpdateCheck(
        share_server_updates.SUBNET,
        network_id,
        about,
        servers,
        CheckSubnet(network=ServerNetwork(renewed_id, **described), needed=len(servers)),
    )
    if beside and not subnet_values['neutron_subnet_id']:
        raise errors.Invalid(
            f'neutron_net_id: missing; the zone has subnet {beside[0].id}, and share servers take addresses '
            'from each subnet of their zone.'
        )
    share_server_updates.must_be_healthy(conn, ctx, question)
    return question


def _failed_before(beside: Iterable[Row[Any]], subnet_values: Mapping[str, Any]) -> Row[Any] | None:
    """Return the subnet at this place that could not be added to all share servers, or None."""
    return next(
        (
            subnet
            for subnet in beside
            if subnet.error is not None
            and all(getattr(subnet, name) == subnet_values[name] for name in _SAME)
        ),
        None,
    )


def _without_network(beside: Iterable[Row[Any]]) -> Row[Any] | None:
    """Return the subnet that names no network, or None. The next subnet of its zone takes its place."""
    return next((subnet for subnet in beside if subnet.neutron_subnet_id is None), None)


def _servers(conn: Connection, beside: Iterable[Row[Any]], failed: Row[Any] | None) -> tuple[Row[Any], ...]:
    """Return the share servers in these subnets that are not in the one that failed before, if there is one."""
    servers = share_server_updates.in_use(
        conn, share_server_queries.list_in_subnets(conn, [subnet.id for subnet in beside])
    )
    there = (
        {server.id for server in share_server_queries.list_in_subnets(conn, [failed.id])} if failed else set()
    )
    return tuple(server for server in servers if server.id not in there)


def insert(
    conn: Connection,
    network_id: str,
    zone_id: str | None,
    subnet_values: Mapping[str, Any],
    metadata: dict[str, str],
) -> str:
    """Insert a subnet with these fields (see ``describe``). Return its id."""
    subnet_id = uuidutils.generate_uuid()
    share_network_subnets.insert(
        conn,
        {'id': subnet_id, 'share_network_id': network_id, 'availability_zone_id': zone_id, **subnet_values},
        metadata,
    )
    return subnet_id


def describe(ctx: RequestContext, wanted: Mapping[str, Any], project_id: str | None) -> dict[str, Any]:
    """Return the fields of a subnet that say where it is: in the wanted subnet of the network plugin, or in a default network
    if none is wanted, or one that the plugin does not know. Nulls if there is no default network and none is wanted.

    Not for use in a transaction: the plugin may call a remote service.

    :raises errors.Invalid: one id without the other, or ids that the plugin does not know, and there is no default network.
    :raises errors.Busy: too many requests wait for networks.
    """
    net_id, subnet_id = wanted.get('neutron_net_id'), wanted.get('neutron_subnet_id')
    if (net_id is None) != (subnet_id is None):
        missing = 'neutron_net_id' if net_id is None else 'neutron_subnet_id'
        raise errors.Invalid(
            f'{missing}: missing; neutron_net_id and neutron_subnet_id are given together or not at all.'
        )
    try:
        plugin = load.make(ctx.conf)
        default = plugin.find_default(project_id)
        network = (
            default
            if net_id is None or subnet_id is None
            else _find(ctx, plugin, net_id, subnet_id, project_id, default)
        )
    except errors.BadConfig as bad:
        LOG.error('No subnet can be looked up: %s', bad)
        if net_id is None:  # as long as no share server is there, none is needed
            return network_allocations.network_values(None)
        raise errors.Unavailable(
            'Networks cannot be looked up: the network plugin is misconfigured. The log of the service '
            'has the cause.',
            code='network_plugin_broken',
        ) from bad
    return network_allocations.network_values(
        network, wanted=(net_id, subnet_id) if network == default else None
    )


def _find(
    ctx: RequestContext,
    plugin: NetworkPlugin,
    net_id: str,
    subnet_id: str,
    project_id: str | None,
    default: Subnet | None,
) -> Subnet:
    """Return the wanted subnet of the plugin, or the default one if the plugin does not know the network."""
    try:
        with ctx.waiting('networks') if plugin.REMOTE else contextlib.nullcontext():
            return plugin.describe(net_id, subnet_id, project_id)
    except errors.Invalid as unknown:
        if default is None or unknown.code != 'network_not_known':
            raise
        return default


def must_look_active(network: Row[Any]) -> None:
    """Refuse a network whose row is not active. Nothing is held: the check is for an early answer.

    :raises errors.WrongState: the network is not active.
    """
    if network.status != 'active':
        raise errors.WrongState(f'Share network {network.id} is {network.status}, not active.')


def must_be_active(conn: Connection, network_id: str) -> None:
    """Hold the network until the transaction ends, and refuse one that is not active.

    :raises errors.WrongState: the network is not active, or is gone.
    """
    if not share_networks.lock(conn, network_id, ('active',)):
        raise errors.WrongState(f'Share network {network_id} is not active.')


def must_not_be_changing(conn: Connection, network_id: str) -> None:
    """Hold the network until the transaction ends, and refuse one that an operation is changing.

    :raises errors.WrongState: the network is being changed, or is gone.
    """
    if not share_networks.lock(
        conn, network_id, states.SHARE_NETWORK.statuses - states.SHARE_NETWORK.transient
    ):
        raise errors.WrongState(f'Share network {network_id} is being changed; wait until that has ended.')


def must_have_no_servers(conn: Connection, network_id: str, so: str) -> None:
    """Refuse a network that has share servers. ``so``: the consequence, for the message.

    :raises errors.Forbidden: there is a share server.
    """
    if share_servers.count(conn, network_id):
        raise errors.Forbidden(
            f'Share network {network_id} is used by share servers; {so}.', code='servers_in_use'
        )


def get_zone_id(conn: Connection, name_or_id: str | None) -> str | None:
    """Return the id of the zone, or None without one. Some clients, such as manila-ui, send its id in place of its name.

    :raises errors.Invalid: there is no such zone.
    """
    zone_id = services.find_zone_id(conn, name_or_id) if name_or_id else None
    if name_or_id and zone_id is None:
        raise errors.Invalid(
            f'availability_zone: there is no zone {name_or_id}.', code='availability_zone_not_found'
        )
    return zone_id


def _must_not_overlap(subnet_values: Mapping[str, Any], beside: Iterable[Any]) -> None:
    for subnet in beside:
        if subnet_values['cidr'] and subnet.cidr and overlap(subnet_values['cidr'], subnet.cidr):
            raise errors.Conflict(
                f'neutron_subnet_id: {subnet_values["cidr"]} overlaps with {subnet.cidr} of subnet {subnet.id} in '
                'the same zone.',
                code='subnets_overlap',
            )


def delete(ctx: RequestContext, network_id: str, subnet_id: str) -> None:
    """Delete a subnet.

    Unused share servers that may be deleted automatically are deleted, too; the subnet's row goes with the last of them.

    :raises errors.Conflict: other share servers are in the subnet, shares of its network wait for a server, or the network
        is being changed.
    """
    with ctx.db.writer() as conn:
        share_networks.get(conn, ctx, network_id)
        must_not_be_changing(conn, network_id)
        share_network_subnets.get(conn, network_id, subnet_id)
        waiting = share_networks.count_shares(conn, network_id, without_server=True)
        servers = share_server_queries.list_in_subnets(conn, (subnet_id,))
        too_early = f'is in share network {network_id}, which has {errors.count(waiting, "share")} without a share server yet.'
        network_deletion.must_be_free(
            f'Subnet {subnet_id}',
            [
                *([('subnet_in_use', too_early)] if waiting else []),
                *network_deletion.objections_of(conn, ctx, servers, 'subnet_in_use'),
            ],
        )
        network_deletion.remove_unused(conn, ctx, servers)
        if servers:
            share_network_subnets.delete_for_owner(conn, subnet_id)
        else:
            share_network_subnets.delete(conn, subnet_id)
