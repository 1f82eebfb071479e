# SPDX-License-Identifier: Apache-2.0
"""Where shares mount, in the order of the API. Pure."""

from collections.abc import Iterable

from oslo_utils import netutils

from manila_lite import kinds


def at(ident: str, addresses: Iterable[str]) -> list[kinds.ExportLocation]:
    """Return a location for each address; IPv4 comes first and is preferred."""
    ordered = sorted(addresses, key=_version)
    return [_location(ident, address, preferred=position == 0) for position, address in enumerate(ordered)]


def on(ident: str, server: kinds.ShareServer) -> list[kinds.ExportLocation]:
    """Return a location for each address of the server; only administrators see those in their network."""
    users = [allocation.ip_address for network in server.networks for allocation in network.allocations]
    return at(ident, users) + [_location(ident, allocation.ip_address, admin=True) for allocation in server.admin_allocations]


def _location(ident: str, address: str, *, preferred: bool = False, admin: bool = False) -> kinds.ExportLocation:
    return kinds.ExportLocation(f'{netutils.escape_ipv6(address)}:/shares/{ident}', preferred, admin,
                                {'ip_version': str(_version(address))})


def _version(address: str) -> int:
    return 6 if ':' in address else 4
