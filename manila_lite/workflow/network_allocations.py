# SPDX-License-Identifier: Apache-2.0
"""Addresses of share servers: their rows, and those that are reserved in the transaction that needs them."""

from collections.abc import Mapping
from typing import Any

from oslo_utils import uuidutils

from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import allocations
from manila_lite.network.interface import Address, NetworkPlugin, Subnet

#: Fields of a subnet that the network plugin knows.
DESCRIBED = (
    'neutron_net_id',
    'neutron_subnet_id',
    'cidr',
    'ip_version',
    'gateway',
    'mtu',
    'network_type',
    'segmentation_id',
)
_KEPT = ('cidr', 'gateway', 'mtu', 'ip_version', 'network_type', 'segmentation_id')


def network_values(
    network: Subnet | None, *, wanted: tuple[str | None, str | None] | None = None
) -> dict[str, Any]:
    """Return the fields of a subnet that say where it is; nulls without a network.

    ``wanted``: for a subnet in a default network, the ids of network and subnet that its user gave.
    """
    net_id, subnet_id = wanted if network and wanted else (None, None)
    return {
        **{name: getattr(network, name, None) for name in DESCRIBED},
        'in_default_network': network is not None and wanted is not None,
        'wanted_net_id': net_id,
        'wanted_subnet_id': subnet_id,
    }


def plugin_subnet(subnet: Any, project_id: str | None) -> Subnet:
    """Return a subnet (its row) as the network plugin knows it. ``project_id``: the owner of addresses in it."""
    return Subnet(
        subnet.neutron_net_id,
        subnet.neutron_subnet_id,
        project_id=project_id,
        **{name: getattr(subnet, name) for name in _KEPT},
    )


def row_of(server_id: str, subnet: Any, address: Address) -> dict[str, Any]:
    """Return the row of an address of a server in a subnet (its row)."""
    return {
        'id': uuidutils.generate_uuid(),
        'share_server_id': server_id,
        'share_network_subnet_id': subnet.id or None,
        'neutron_subnet_id': subnet.neutron_subnet_id,
        'ip_address': address.ip_address,
        'mac_address': address.mac_address,
        'port_id': address.port_id,
        'label': 'admin' if subnet.id == allocations.ADMIN else 'user',
        **{name: getattr(subnet, name) for name in _KEPT},
    }


def reserve(
    conn: Connection, plugin: NetworkPlugin, subnet: Any, needs: Mapping[str, int], project_id: str
) -> bool:
    """Give each server (by id) so many addresses in the subnet (its row). Return False if others took them meanwhile.

    Only for a plugin that is not ``REMOTE``: it is called in the caller's transaction.

    :raises errors.Final: the subnet has too few free addresses.
    """
    network_values = plugin_subnet(subnet, project_id)
    taken = allocations.used_addresses(conn, subnet.neutron_subnet_id)
    plugin.must_have_room(network_values, sum(needs.values()), taken=taken)
    new: list[dict[str, Any]] = []
    for server_id, count in needs.items():
        addresses = plugin.allocate(network_values, count, taken=taken, owner=server_id)
        taken.update(address.ip_address for address in addresses)
        new.extend(row_of(server_id, subnet, address) for address in addresses)
    return not new or allocations.store(conn, new)
