# SPDX-License-Identifier: Apache-2.0
"""The network side of one share server: a namespace with an interface for each address, connected to the fabric.

An interface is complete once it bears its mark; an incomplete one is made anew, so that a call which died half way can
simply be repeated. Replies leave through the interface on which the request came in, and no interface accepts packets with an
address of another subnet of the server (``source_rules``).
"""

import hashlib
import ipaddress
import re
from collections.abc import Iterable
from typing import Any

from manila_lite import values
from manila_lite.drivers.linux.servers import fabric, source_rules, traffic_shaping
from manila_lite.host.commands import CommandFailed, run
from manila_lite.host.ip import add, addresses, delete, ip, is_there, kind, links, listed
from manila_lite.host.waits import until

#: A file server only answers: it does not forward packets, nor accept routes from the network.
_SETTINGS = (
    'net.ipv4.ip_forward=0',
    'net.ipv6.conf.all.forwarding=0',
    'net.ipv6.conf.default.accept_ra=0',
    'net.ipv6.conf.default.accept_dad=0',
    'net.ipv6.conf.default.accept_redirects=0',
    'net.ipv4.conf.all.accept_redirects=0',
    'net.ipv4.conf.default.accept_redirects=0',
    'net.ipv4.conf.all.arp_ignore=1',
    'net.ipv4.conf.all.arp_announce=2',
    # Tell neighbours that knew the address elsewhere where it is now.
    'net.ipv4.conf.default.arp_notify=1',
    'net.ipv6.conf.default.ndisc_notify=1',
)
_COMPLETE = 'complete'
#: Seconds that a bridge gets to start forwarding for a port.
_PATIENCE = 2.0
_OURS = re.compile('v[0-9a-f]{13}')


class Namespace:
    """The namespace of one share server. Not safe for threads, but beside other servers and processes."""

    def __init__(self, owner: str, plant: fabric.Fabric):
        self.owner = owner
        self.name = f'manila-{owner}'
        self._fabric = plant

    @property
    def is_there(self) -> bool:
        return is_there(self.name)

    def ensure(self, allocations: Iterable[values.Allocation]) -> list[str]:
        """Create the namespace with exactly these addresses, or repair it. Returns the repairs in words."""
        was_there = self.is_there
        repairs = (
            [] if was_there else ['The network namespace of the share server was gone; it was created again.']
        )
        add(self.name)
        there = {link['ifname']: link for link in addresses(self.name)}
        if there['lo'].get('ifalias') != _COMPLETE or 'UP' not in there['lo']['flags']:
            run(
                'nsenter',
                f'--net=/run/netns/{self.name}',
                'sysctl',
                '--quiet',
                '--ignore',
                '--write',
                *_SETTINGS,
            )
            ip(self.name, 'link', 'set', 'lo', 'alias', _COMPLETE, 'up')
        wanted = {_interface(allocation): allocation for allocation in allocations}
        for name in [name for name, link in there.items() if kind(link) == 'veth' and name not in wanted]:
            self._drop(name)
            repairs.append('An unexpected interface of the share server was removed.')
        # Before a new interface gets its address.
        if source_rules.ensure(self.name, wanted) and was_there:
            repairs.append(
                'An interface accepted addresses of other subnets, or dropped others. It is right again.'
            )
        plugged = self._fabric.ports_of(self.owner)
        routed = self._routed(allocation for allocation in wanted.values() if allocation.gateway)
        for name, allocation in wanted.items():
            if why := self._defect(name, allocation, there.get(name, {}), plugged.get(name, ''), routed):
                repairs.append(
                    f'The address {allocation.ip_address} could not be reached: {why}. It can be again.'
                )
                self._renew(name, allocation, name in there, name in plugged)
        with self._fabric.exclusive():
            self._fabric.sweep()
        return repairs

    def shape(self, limit: int | None) -> bool:
        """Limit each interface to so many bytes per second, each way; None removes the limit. Returns whether anything
        changed.
        """
        return traffic_shaping.shape(
            [
                (netns, name)
                for name in self._fabric.ports_of(self.owner)
                for netns in (self.name, self._fabric.netns)
            ],
            limit,
        )

    def delete(self) -> None:
        """Delete the namespace, its ports, and bridges that were made for it alone."""
        self._fabric.unplug(self.owner)
        delete(self.name)

    def _drop(self, name: str) -> None:
        for family in ('-4', '-6') if _OURS.fullmatch(name) else ():
            ip(self.name, family, 'rule', 'flush', 'table', _table(name))
        try:
            ip(self.name, 'link', 'delete', name)
        except CommandFailed:
            # The interface goes when the namespace at its other end is deleted.
            if any(link['ifname'] == name for link in links(self.name)):
                raise

    def _routed(self, allocations: Iterable[values.Allocation]) -> set[str]:
        """Return the routing tables that have a default route and a rule that leads to them."""
        tables: set[str] = set()
        for family in {allocation.ip_version for allocation in allocations}:
            asked = {str(rule.get('table')) for rule in listed(self.name, family, 'rule', 'show')}
            tables |= {
                str(route.get('table'))
                for route in listed(self.name, family, 'route', 'show', 'table', 'all')
                if route.get('dst') == 'default'
            } & asked
        return tables

    def _defect(
        self, name: str, allocation: values.Allocation, link: dict[str, Any], plugged: str, routed: set[str]
    ) -> str:
        """Return the reason why the server cannot be reached at the address, or ''."""
        bridge = fabric.bridge_of(allocation)
        held = {
            ipaddress.ip_address(entry['local']) for entry in link.get('addr_info', ()) if 'local' in entry
        }
        checks = (
            (bool(link), 'its interface was gone'),
            (link.get('ifalias') == _digest(bridge, allocation), 'its interface was not complete'),
            (plugged == bridge, f'its interface was not on the bridge {bridge}'),
            ({'UP', 'LOWER_UP'} <= set(link.get('flags', ())), 'its interface was down'),
            (
                ipaddress.ip_address(allocation.ip_address) in held,
                'its interface had another address, or none',
            ),
            (not allocation.gateway or _table(name) in routed, 'its routes were gone'),
        )
        return next((why for well, why in checks if not well), '')

    def _renew(self, name: str, allocation: values.Allocation, there: bool, plugged: bool) -> None:
        bridge = fabric.bridge_of(allocation)
        if there:
            self._drop(name)
        elif plugged:
            self._fabric.remove(name)  # its other end is in a namespace that has no name any more
        self._plug(name, allocation, bridge)
        self._address(name, allocation)
        self._announce(name, allocation)
        ip(self.name, 'link', 'set', name, 'alias', _digest(bridge, allocation))

    def _announce(self, name: str, allocation: values.Allocation) -> None:
        """Announce the address to neighbours. The kernel's own announcement got lost if the port did not forward yet."""
        until(lambda: self._fabric.forwards(name), _PATIENCE, 0.01)
        ip(
            self.name, 'link', 'set', name, 'address', _mac(allocation)
        )  # the same address again: the kernel announces it

    def _plug(self, name: str, allocation: values.Allocation, bridge: str) -> None:
        mtu = ('mtu', str(allocation.mtu)) if allocation.mtu else ()
        with self._fabric.exclusive():
            self._fabric.ready(bridge)
            ip(
                self.name,
                'link',
                'add',
                name,
                'address',
                _mac(allocation),
                *mtu,
                'type',
                'veth',
                'peer',
                'name',
                name,
                *mtu,
                'netns',
                self._fabric.netns,
            )
            ip(
                self._fabric.netns,
                *('link', 'set', name, 'alias', self.owner, 'addrgenmode', 'none', 'master', bridge, 'up'),
            )

    def _address(self, name: str, allocation: values.Allocation) -> None:
        network = ipaddress.ip_network(allocation.cidr, strict=False)
        family, address, table = f'-{network.version}', allocation.ip_address, _table(name)
        if network.version == 4:
            ip(self.name, 'link', 'set', name, 'addrgenmode', 'none')
        ip(
            self.name,
            family,
            'address',
            'add',
            f'{address}/{network.prefixlen}',
            'dev',
            name,
            *(('nodad',) if network.version == 6 else ()),
        )
        ip(self.name, 'link', 'set', name, 'up')
        if allocation.gateway:
            ip(self.name, family, 'rule', 'flush', 'table', table)
            ip(self.name, family, 'rule', 'add', 'from', address, 'lookup', table)
            ip(self.name, family, 'route', 'add', str(network), 'dev', name, 'table', table)
            for place in (('table', table), ('metric', table)):
                ip(
                    self.name,
                    family,
                    'route',
                    'add',
                    'default',
                    'via',
                    allocation.gateway,
                    'dev',
                    name,
                    'onlink',
                    *place,
                )


def _interface(allocation: values.Allocation) -> str:
    """Return the name of the allocation's interface, the same at both ends."""
    return f'v{hashlib.sha256(allocation.id.encode()).hexdigest()[:13]}'


def _digest(bridge: str, allocation: values.Allocation) -> str:
    return hashlib.sha256(repr((bridge, allocation)).encode()).hexdigest()


def _table(name: str) -> str:
    """Return the number of the interface's own routing table, above those that the kernel itself uses."""
    return str(int(name[1:8], 16) + 1000)


def _mac(allocation: values.Allocation) -> str:
    """Return a hardware address that outlives a reboot: clients remember it for longer than a restart of the server
    takes.
    """
    if allocation.mac_address:
        return allocation.mac_address
    own = hashlib.sha256(allocation.id.encode()).digest()
    return ':'.join(f'{part:02x}' for part in (0x02, *own[:5]))
