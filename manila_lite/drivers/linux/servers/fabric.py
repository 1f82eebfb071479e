# SPDX-License-Identifier: Apache-2.0
"""The network between share servers and their clients: a namespace with a bridge for each segment.

It is in its own namespace, so nothing of it touches the machine's own network. An operator who wants servers to be
reachable from elsewhere makes the namespace first and puts an uplink on a bridge in it. A bridge with an operator's
interface is never removed, nor is a bridge or namespace that an operator made.
"""

import contextlib
import fcntl
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from manila_lite import values
from manila_lite.host.ip import add, delete, ip, is_there, kind, links

#: Alias of the interfaces that were made here.
_OURS = 'manila_lite'
#: Name of a bridge that does not have the alias yet.
_DRAFT = 'draft'
#: Lock of all share managers of the machine.
_LOCK = Path('/run/manila_lite-fabric.lock')
_NUMBERED = ('vlan', 'vxlan', 'gre', 'geneve')


def bridge_of(network: values.Allocation | values.ServerNetwork) -> str:
    """Return the name of the network's bridge: there is one for each segment, or for each network without a segment
    number.
    """
    if network.network_type in _NUMBERED and network.segmentation_id is not None:
        return f'{network.network_type}{network.segmentation_id}'
    if network.neutron_net_id:
        return f'net{hashlib.sha256(network.neutron_net_id.encode()).hexdigest()[:12]}'
    return 'flat'


class Fabric:
    """The fabric in one namespace. Safe for several share managers on one machine."""

    def __init__(self, netns: str):
        self.netns = netns

    def ready(self, bridge: str) -> None:
        """Create the bridge if necessary. To be called while holding ``exclusive``."""
        add(self.netns)
        there = links(self.netns)
        if not any('UP' in link['flags'] for link in there):
            ip(self.netns, 'link', 'set', 'lo', 'alias', _OURS, 'up')
        if not any(link['ifname'] == bridge for link in there):
            self._make(bridge, there)
        ip(self.netns, 'link', 'set', bridge, 'up')

    def _make(self, bridge: str, there: list[dict[str, Any]]) -> None:
        if not any(link['ifname'] == _DRAFT for link in there):
            ip(self.netns, 'link', 'add', _DRAFT, 'type', 'bridge', 'mcast_snooping', '0')
        ip(self.netns, 'link', 'set', _DRAFT, 'addrgenmode', 'none', 'alias', _OURS)
        ip(self.netns, 'link', 'set', _DRAFT, 'name', bridge)

    def ports_of(self, owner: str) -> dict[str, str]:
        """Return the bridge of each port that is marked as the owner's; '' if it is on none, or on one that is down."""
        if not is_there(self.netns):
            return {}
        there = links(self.netns)
        up = {link['ifname'] for link in there if 'UP' in link['flags']}
        return {
            link['ifname']: link['master'] if link.get('master') in up else ''
            for link in there
            if link.get('ifalias') == owner
        }

    def forwards(self, port: str) -> bool:
        """Say whether the bridge forwards packets from the port."""
        return any(
            link['ifname'] == port
            and link.get('linkinfo', {}).get('info_slave_data', {}).get('state') == 'forwarding'
            for link in links(self.netns)
        )

    def remove(self, port: str) -> None:
        """Remove the port, and with it the interface at its other end."""
        ip(self.netns, 'link', 'delete', port)

    def unplug(self, owner: str) -> None:
        """Remove all ports of the owner, and bridges or a namespace that were made for it alone."""
        with self.exclusive():
            for port in self.ports_of(owner):
                self.remove(port)
            self.sweep()

    def sweep(self) -> None:
        """Remove bridges that were made here and have no port, and the namespace if it is empty."""
        if not is_there(self.netns):
            return
        there = links(self.netns)
        used = {link.get('master') for link in there}
        unused = [
            link['ifname']
            for link in there
            if kind(link) == 'bridge'
            and link['ifname'] not in used
            and (link.get('ifalias') == _OURS or link['ifname'] == _DRAFT)
        ]
        for bridge in unused:
            ip(self.netns, 'link', 'delete', bridge)
        up = {
            link['ifname']: link.get('ifalias')
            for link in there
            if 'UP' in link['flags'] and link['ifname'] not in unused
        }
        if up == {'lo': _OURS}:
            delete(self.netns)

    @contextlib.contextmanager
    def exclusive(self) -> Iterator[None]:
        """Keep other threads and processes from changing the fabric. The kernel drops the lock when the process dies."""
        with _LOCK.open('a') as lock:
            os.fchmod(lock.fileno(), 0o600)  # any process that can open the file can hold the lock
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
