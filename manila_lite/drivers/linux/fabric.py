# SPDX-License-Identifier: Apache-2.0
"""The network between share servers and their clients: a namespace with a bridge for each segment.

In a namespace of its own nothing of it touches the machine's own network. An operator who wants servers
reachable from elsewhere makes the namespace first and puts an uplink on a bridge in it. What has an operator's
interface on it is never removed, and neither is what an operator made.
"""

import contextlib
import fcntl
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from manila_lite import kinds
from manila_lite.drivers.linux.ip import add, delete, ip, is_there, kind, links

#: Says that an interface was made here, as its alias.
_OURS = 'manila_lite'
#: The name of a bridge that is not marked yet.
_DRAFT = 'draft'
#: One for all share managers of the machine.
_LOCK = Path('/run/manila_lite-fabric.lock')
_NUMBERED = ('vlan', 'vxlan', 'gre', 'geneve')


def bridge_of(network: kinds.Allocation | kinds.ServerNetwork) -> str:
    """Return the name of the network's bridge: one for each segment, or for each network that has no number."""
    if network.network_type in _NUMBERED and network.segmentation_id is not None:
        return f'{network.network_type}{network.segmentation_id}'
    if network.neutron_net_id:
        return f'net{hashlib.sha256(network.neutron_net_id.encode()).hexdigest()[:12]}'
    return 'flat'


class Fabric:
    """Safe for several share managers on one machine."""

    def __init__(self, netns: str):
        self.netns = netns

    def plug(self, bridge: str, port: str, owner: str) -> None:
        """The interface is on the bridge, and marked as the owner's."""
        ip(self.netns, 'link', 'set', port, 'alias', owner, 'addrgenmode', 'none', 'master', bridge, 'up')

    def ready(self, bridge: str) -> None:
        """The bridge is there. To be called while nobody else changes the fabric."""
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
        """Return the bridge of each port that is marked as the owner's; '' if it is on none, or that does nothing."""
        if not is_there(self.netns):
            return {}
        there = links(self.netns)
        up = {link['ifname'] for link in there if 'UP' in link['flags']}
        return {link['ifname']: link['master'] if link.get('master') in up else ''
                for link in there if link.get('ifalias') == owner}

    def forwards(self, port: str) -> bool:
        """Say whether what comes from the port gets to the others on its bridge."""
        return any(link['ifname'] == port and link.get('linkinfo', {}).get('info_slave_data', {}).get('state') == 'forwarding'
                   for link in links(self.netns))

    def remove(self, port: str) -> None:
        """The port is gone, and the interface at its other end."""
        ip(self.netns, 'link', 'delete', port)

    def unplug(self, owner: str) -> None:
        """No port of the owner is left, nor a bridge or a namespace that was made for it alone."""
        with self.alone():
            for port in self.ports_of(owner):
                self.remove(port)
            self.sweep()

    def sweep(self) -> None:
        """Bridges made here are gone if nothing is on them; so is the namespace if nothing is in it."""
        if not is_there(self.netns):
            return
        there = links(self.netns)
        used = {link.get('master') for link in there}
        unused = [link['ifname'] for link in there
                  if kind(link) == 'bridge' and link['ifname'] not in used
                  and (link.get('ifalias') == _OURS or link['ifname'] == _DRAFT)]
        for bridge in unused:
            ip(self.netns, 'link', 'delete', bridge)
        up = {link['ifname']: link.get('ifalias') for link in there if 'UP' in link['flags'] and link['ifname'] not in unused}
        if up == {'lo': _OURS}:
            delete(self.netns)

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Nobody else, thread or process, adds to the fabric or takes from it. The kernel lets go when the process dies."""
        with _LOCK.open('a') as lock:
            os.fchmod(lock.fileno(), 0o600)     # who can open it can hold it
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
