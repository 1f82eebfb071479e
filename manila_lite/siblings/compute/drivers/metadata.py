# SPDX-License-Identifier: Apache-2.0
"""The metadata of guests: files that ``metadata_server`` serves, and that are on the config drive, too."""

import base64
import ipaddress
from typing import Any

import orjson

from manila_lite.siblings.compute.drivers.interface import MountedShare, Server

#: Versions of the metadata; shares are listed from the first one on.
VERSIONS = ('2025-04-04', 'latest')


def document(server: Server, shares: tuple[MountedShare, ...]) -> dict[str, Any]:
    """Return ``meta_data.json`` of a server."""
    return {
        'uuid': server.id,
        'name': server.name,
        'hostname': server.name,
        'project_id': server.project_id,
        'launch_index': 0,
        'meta': server.metadata,
        'devices': [
            {'type': 'share', 'share_id': share.id, 'tag': share.tag, 'bus': 'none', 'address': 'none'}
            for share in shares
        ],
    }


def network(server: Server) -> dict[str, Any]:
    """Return ``network_data.json`` of a server: the configuration of its interfaces, each identified by its MAC address."""
    links, networks = [], []
    for number, nic in enumerate(server.nics):
        net = ipaddress.ip_network(nic.cidr)
        anywhere = '0.0.0.0' if net.version == 4 else '::'
        links.append(
            {
                'id': f'nic{number}',
                'type': 'phy',
                'ethernet_mac_address': nic.mac,
                'mtu': nic.mtu,
                'vif_id': None,
            }
        )
        networks.append(
            {
                'id': f'network{number}',
                'type': f'ipv{net.version}',
                'link': f'nic{number}',
                'network_id': nic.network,
                'ip_address': nic.address,
                'netmask': str(net.netmask),
                'routes': [{'network': anywhere, 'netmask': anywhere, 'gateway': nic.gateway}]
                if nic.gateway
                else [],
            }
        )
    return {'links': links, 'networks': networks, 'services': []}


def files(server: Server, shares: tuple[MountedShare, ...]) -> dict[str, bytes]:
    """Return all files by their path, for instance ``openstack/latest/meta_data.json``."""
    contents = {'meta_data.json': orjson.dumps(document(server, shares))}
    if server.nics:
        contents['network_data.json'] = orjson.dumps(network(server))
    if server.user_data:
        contents['user_data'] = base64.b64decode(server.user_data)
    return {
        f'openstack/{version}/{name}': content for version in VERSIONS for name, content in contents.items()
    }
