# SPDX-License-Identifier: Apache-2.0
"""Addresses that share servers have before they are managed, and keep after they are unmanaged."""

import ipaddress
from collections.abc import Iterable
from typing import Any

from manila_lite import context, errors
from manila_lite.db.queries import allocations
from manila_lite.manager.plans import allocated_addresses
from manila_lite.network.interface import Address, NetworkPlugin, Subnet
from manila_lite.workflow import network_allocations


def by_network(
    addresses: Iterable[str], subnet: Any, admins: Subnet | None, needs: tuple[int, int]
) -> tuple[list[str], list[str]]:
    """Return the addresses of a server in a subnet (its row), and those in the network of administrators, if there is one.

    ``needs``: how many the driver needs in each. Networks of users may overlap with that of administrators: of addresses that
    may be in both, the first are the users', as ``find_server`` has it, until they have as many as they need.

    :raises errors.Final: the subnet is in no network, an address is in neither, or too few are in the subnet.
    """
    if not subnet.cidr:
        raise errors.Final(
            f'Share network subnet {subnet.id} names no network, so no share server can be in it.'
        )
    users_net, admins_net = (ipaddress.ip_network(place.cidr) if place else () for place in (subnet, admins))
    parsed = [ipaddress.ip_address(text) for text in addresses]
    if nowhere := [
        str(address) for address in parsed if address not in users_net and address not in admins_net
    ]:
        other = (
            f', nor in the network of administrators ({admins.cidr})'
            if admins
            else ('. Its backend has no network of administrators (admin_network_id) that they could be in')
        )
        raise errors.Final(
            f'The share server has the addresses {", ".join(nowhere)}, which are not in subnet {subnet.id} '
            f'({subnet.cidr}){other}.'
        )
    users: list[str] = []
    others: list[str] = []
    for address in parsed:
        has_enough = len(users) >= needs[0] and len(others) < needs[1]
        is_others = address in admins_net and (has_enough or address not in users_net)
        (others if is_others else users).append(str(address))
    if len(users) < needs[0]:
        raise errors.Final(
            f'The share server has {errors.count(len(users), "address")} in subnet {subnet.id}; it needs '
            f'{needs[0]}.'
        )
    return users, others


def keep(
    services: context.Services,
    plugin: NetworkPlugin,
    server_id: str,
    subnet: Any,
    addresses: list[str],
    hold: allocated_addresses.Hold | None = None,
) -> None:
    """Register the addresses that a server uses already as its own, all in one subnet (its row, or the network of
    administrators). May be called again.

    :raises errors.Final: one of them belongs to another server.
    """
    plugin_subnet = network_allocations.plugin_subnet(
        subnet, allocated_addresses.project_of(services, server_id, subnet)
    )
    adopted = plugin.adopt(plugin_subnet, addresses, owner=server_id)
    with services.db.writer() as conn:
        if hold:
            hold(conn)
        known = {row.ip_address for row in allocations.of_server(conn, server_id, subnet.id)}
        new = [
            network_allocations.row_of(server_id, subnet, address)
            for address in adopted
            if address.ip_address not in known
        ]
        stored = not new or allocations.store(conn, new)
    if not stored:
        plugin.disown(adopted)
        raise errors.Final(f'One of the addresses {", ".join(addresses)} is in use by another share server.')


def forget(
    services: context.Services,
    plugin: NetworkPlugin,
    server_id: str,
    subnet_id: str | None = None,
    hold: allocated_addresses.Hold | None = None,
) -> None:
    """Remove the server's addresses in its share network, or in that of administrators, from the records; the server goes on
    using them. May be called again.
    """
    with services.db.reader() as conn:
        rows = allocations.of_server(conn, server_id, subnet_id)
    plugin.disown(Address(row.ip_address, row.mac_address, row.port_id) for row in rows)
    with services.db.writer() as conn:
        if hold:
            hold(conn)
        allocations.delete(conn, [row.id for row in rows])
