# SPDX-License-Identifier: Apache-2.0
"""Export locations of shares, in the order of the API. Pure."""

from collections.abc import Callable, Iterable, Mapping

from oslo_utils import netutils

from manila_lite import values


def nfs(address: str, path: str) -> str:
    """Return what NFS clients mount."""
    return f'{netutils.escape_ipv6(address)}:{path}'


_PATHS: dict[str, Callable[[str, str], str]] = {
    'NFS': lambda address, name: nfs(address, f'/shares/{name}'),
    'CIFS': lambda address, name: rf'\\{address}\{name}',
}


#: The ports that clients use if they get none.
_USUAL = {'NFS': 2049, 'CIFS': 445}


def mount_options(ports: Mapping[str, int]) -> dict[str, str]:
    """Return the mount options that clients need, by protocol; only for ports that they do not use by themselves."""
    return {proto: f'port={port}' for proto, port in ports.items() if port != _USUAL[proto]}


def at(
    share: values.Share, addresses: Iterable[str], ports: Mapping[str, int], path: str = ''
) -> list[values.ExportLocation]:
    """Return an export location for each address; IPv4 comes first and is preferred.

    ``ports``: those of the file servers, by protocol. ``path``: where NFS clients mount a share that they do not mount by its
    name.
    """
    ordered = sorted(addresses, key=_version)
    return [
        _location(share, address, ports, path, preferred=position == 0)
        for position, address in enumerate(ordered)
    ]


def on(
    share: values.Share, server: values.ShareServer, ports: Mapping[str, int]
) -> list[values.ExportLocation]:
    """Return an export location for each address of the server; those in the administrators' network are for them only."""
    users = [allocation.ip_address for network in server.networks for allocation in network.allocations]
    admins = [allocation.ip_address for allocation in server.admin_allocations]
    return at(share, users, ports) + [_location(share, address, ports, admin=True) for address in admins]


def moved(share: values.Share, locations: Iterable[values.ExportLocation]) -> list[str]:
    """Return in words that the share's paths have changed; nothing if the caller gave no known paths."""
    known, now = [one.path for one in share.export_locations], [one.path for one in locations]
    return (
        [f'It was known as {", ".join(known)}; it is {", ".join(now)}.']
        if known and sorted(known) != sorted(now)
        else []
    )


def _location(
    share: values.Share,
    address: str,
    ports: Mapping[str, int],
    path: str = '',
    *,
    preferred: bool = False,
    admin: bool = False,
) -> values.ExportLocation:
    whole = nfs(address, path) if path else _PATHS[share.proto](address, share.mount_point_name or share.id)
    options = mount_options(ports).get(share.proto)
    more = {values.MOUNT_OPTIONS: options} if options else {}
    return values.ExportLocation(whole, preferred, admin, {values.IP_VERSION: str(_version(address)), **more})


def _version(address: str) -> int:
    return 6 if ':' in address else 4
