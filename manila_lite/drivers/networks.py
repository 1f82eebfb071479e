# SPDX-License-Identifier: Apache-2.0
"""Checks for networks that no share server can use. Pure."""

import ipaddress
from collections.abc import Iterable
from itertools import combinations

from oslo_utils import netutils

from manila_lite import errors, values

_LEAST_MTU = {4: 68, 6: 1280}
#: First and last number of a segment, by the type of the network.
_SEGMENTS = {'vlan': (1, 4094), 'vxlan': (1, 2**24 - 1), 'geneve': (1, 2**24 - 1), 'gre': (1, 2**32 - 1)}
_ANY_MAC = '02:00:00:00:00:00'

_Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def vet(server: values.ShareServer) -> None:
    """Check that the networks and addresses of the server fit together.

    :raises errors.Final: they do not; the message says which.
    """
    if not any(network.allocations for network in server.networks):
        raise errors.Final(f'Share server {server.id} has no address in any subnet.')
    for allocation in server.allocations:
        _vet_address(allocation)
    _vet_apart(server.networks)


def vet_new(server: values.ShareServer, new: values.ServerNetwork) -> None:
    """Check that the server could be in one more subnet.

    :raises errors.Final: it could not; the message says why.
    """
    _vet_apart(server.joined(new).networks)


def vet_subnet(new: values.ServerNetwork) -> None:
    """Check that a server could have an address in the subnet, which has none yet.

    :raises errors.Final: it could not; the message gives the user the reason.
    """
    network = _network(new)
    try:
        gateway = ipaddress.ip_address(new.gateway) if new.gateway else None
    except ValueError as bad:
        raise errors.Final(f'Subnet {_name(new)}: {bad}.') from bad
    least, segments = _LEAST_MTU[network.version], _SEGMENTS.get(new.network_type or '')
    first, last = segments or (0, 0)
    number = new.segmentation_id
    outside = segments is not None and number is not None and not first <= number <= last
    wrong = {
        f'an MTU of {new.mtu} is too small for IPv{network.version}, which needs {least}': 0
        < (new.mtu or 0)
        < least,
        f'gateway {gateway} is not in {network}': gateway is not None and not _reaches(network, gateway),
        f'segment {number} is not between {first} and {last}, as {new.network_type} needs': outside,
    }
    if objections := [what for what, true in wrong.items() if true]:
        raise errors.Final(f'Subnet {_name(new)}: {"; ".join(objections)}.')


def _name(new: values.ServerNetwork) -> str:
    return new.neutron_subnet_id or new.subnet_id


def _reaches(network: _Network, gateway: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Say whether hosts of the network reach the gateway: routers of IPv6 may have a link-local address only."""
    return gateway.version == network.version and (
        gateway in network or (gateway.version == 6 and gateway.is_link_local)
    )


def _vet_apart(networks: Iterable[values.ServerNetwork]) -> None:
    """Refuse networks that overlap. Several subnets of a share network may be one and the same subnet of the plugin."""
    for one, other in combinations(networks, 2):
        first, second = _network(one), _network(other)
        if one.neutron_subnet_id and _subnet_key(one) == _subnet_key(other):
            continue
        if first.version == second.version and first.overlaps(second):
            raise errors.Final(
                f'Subnets {one.subnet_id} ({first}) and {other.subnet_id} ({second}) overlap: a share server '
                'cannot be in both.'
            )


def _subnet_key(network: values.ServerNetwork) -> tuple[str | None, str | None]:
    return network.neutron_net_id, network.neutron_subnet_id


def _network(network: values.ServerNetwork) -> _Network:
    try:
        return ipaddress.ip_network(network.cidr, strict=False)
    except ValueError as bad:
        raise errors.Final(f'Subnet {_name(network)}: {bad}.') from bad


def _vet_address(allocation: values.Allocation) -> None:
    try:
        address, network = (
            ipaddress.ip_address(allocation.ip_address),
            ipaddress.ip_network(allocation.cidr, strict=False),
        )
        gateway = ipaddress.ip_address(allocation.gateway) if allocation.gateway else None
    except ValueError as bad:
        raise errors.Final(f'Network allocation {allocation.id}: {bad}.') from bad
    wrong = {
        f'{address} is not in {network}': address not in network,
        f'{gateway} is not a gateway of {network}': gateway is not None
        and gateway.version != network.version,
        f'an MTU of {allocation.mtu} is too small': 0 < (allocation.mtu or 0) < _LEAST_MTU[network.version],
        f'{allocation.mac_address} is not a MAC address': not netutils.is_valid_mac(
            allocation.mac_address or _ANY_MAC
        ),
    }
    if objections := [what for what, true in wrong.items() if true]:
        raise errors.Final(f'Network allocation {allocation.id}: {"; ".join(objections)}.')
