# SPDX-License-Identifier: Apache-2.0
"""Addresses that share servers have before they are managed, and keep after they are unmanaged."""

import ipaddress
from collections.abc import Iterable
from typing import Any

from manila_lite import context, errors
from manila_lite.db.queries import allocations, share_servers
from manila_lite.manager.plans import server_addresses
from manila_lite.network.interface import Address, NetworkPlugin, Subnet
from manila_lite.workflow import network_allocations


def keep(services: context.Services, plugin: NetworkPlugin, server_id: str, subnet: Any, addresses: Iterable[str], least: int,
         hold: server_addresses.Hold | None = None) -> None:
    """Register the addresses that a server uses already as its own, all in one subnet (its row). May be called again.

    :raises errors.Final: they are fewer than ``least``, or one is not in the subnet, or belongs to another server.
    """
    texts = _inside(subnet, addresses)
    if len(texts) < least:
        raise errors.Final(f'The share server has {errors.count(len(texts), "address")} in subnet {subnet.id}; it '
                           f'needs {least}.')
    with services.db.reader() as conn:
        project_id = share_servers.get(conn, server_id).project_id
    plugin_subnet = Subnet(subnet.neutron_net_id, subnet.neutron_subnet_id, subnet.cidr, subnet.ip_version,
                           project_id=project_id)
    adopted = plugin.adopt(plugin_subnet, texts, owner=server_id)
    with services.db.writer() as conn:
        if hold:
            hold(conn)
        known = {row.ip_address for row in allocations.of_server(conn, server_id, subnet.id)}
        new = [network_allocations.row_of(server_id, subnet, address) for address in adopted if address.ip_address not in known]
        stored = not new or allocations.store(conn, new)
    if not stored:
        plugin.disown(adopted)
        raise errors.Final(f'One of the addresses {", ".join(texts)} is in use by another share server.')


def _inside(subnet: Any, addresses: Iterable[str]) -> list[str]:
    """Return the addresses in canonical form.

    :raises errors.Final: the subnet is in no network, or an address is not in it.
    """
    if not subnet.cidr:
        raise errors.Final(f'Share network subnet {subnet.id} names no network, so no share server can be in it.')
    network = ipaddress.ip_network(subnet.cidr)
    parsed = [ipaddress.ip_address(text) for text in addresses]
    if outside := [str(address) for address in parsed if address not in network]:
        raise errors.Final(f'The share server has the addresses {", ".join(outside)}, which are not in subnet {subnet.id} '
                           f'({subnet.cidr}).')
    return [str(address) for address in parsed]


def forget(services: context.Services, plugin: NetworkPlugin, server_id: str,
           hold: server_addresses.Hold | None = None) -> None:
    """Remove the server's addresses from the records; the server goes on using them. May be called again."""
    with services.db.reader() as conn:
        rows = allocations.of_server(conn, server_id)
    plugin.disown(Address(row.ip_address, row.mac_address, row.port_id) for row in rows)
    with services.db.writer() as conn:
        if hold:
            hold(conn)
        allocations.delete(conn, [row.id for row in rows])
