# SPDX-License-Identifier: Apache-2.0
"""Clients of NFS, in the networks of share servers: each host is a network namespace with one interface on a bridge."""

import ipaddress
import os

from manila_lite import values
from manila_lite.drivers.linux.servers.fabric import bridge_of
from manila_lite.host.ip import add, delete, ip, links
from manila_lite.tests import nfs_client, nfs_writer
from scenarios import settings
from scenarios.service import Trouble

_PORT = 'eth0'


def must(result):
    """Check that the client succeeded; return its output."""
    worked, said = result
    if not worked:
        raise Trouble(f'the client says: {said}')
    return said


def must_not(result, *reasons):
    """Check that the client was refused, for one of these reasons; return its output."""
    worked, said = result
    if worked or not any(reason in said for reason in reasons):
        raise Trouble(f'expected {" or ".join(reasons)}, the client says: {said or "it worked"}')
    return said


def refused(result):
    """Check that the NFS client found no export; return its output."""
    return must_not(result, 'NOENT', 'ACCES', 'PERM', 'No such file')


def split(path):
    """Return address and directory of an export location."""
    address, _, directory = path.rpartition(':')
    return address.strip('[]'), directory


class Host:
    """A client with one address; it is set up when it is made."""

    def __init__(self, prefix, name, bridge, address, length):
        self.netns = f'{prefix}-{name}'
        self.address = address
        fabric = f'{prefix}-fabric'
        make(self.netns)
        ip(self.netns, 'link', 'add', _PORT, 'type', 'veth', 'peer', 'name', name, 'netns', fabric)
        ip(fabric, 'link', 'set', name, 'master', bridge, 'up')
        ip(
            self.netns,
            'address',
            'add',
            f'{address}/{length}',
            'dev',
            _PORT,
            *(('nodad',) if ':' in address else ()),
        )
        ip(self.netns, 'link', 'set', _PORT, 'up')

    def nfs(self, address, path, action, *words):
        """Mount a share, run one action on it, unmount; return (worked, output of the client)."""
        return nfs_client.call(address, path, action, *words, netns=self.netns)

    def writer(self, address, path):
        """Return a client that writes until its end is asked for."""
        return nfs_writer.Writer(nfs_client.Session(address, path, netns=self.netns))


class Wire:
    """One subnet, with a friend who has an access rule and a stranger who has none."""

    def __init__(self, demo, subnet, path):
        self.name = subnet['neutron_net_id']
        self.cidr = ipaddress.ip_network(subnet['cidr'])
        self.added = ''
        self.server, self.path = split(path)
        bridge = bridge_of(
            values.ServerNetwork(
                subnet['id'],
                str(self.cidr),
                self.cidr.version,
                network_type=subnet['network_type'],
                segmentation_id=subnet['segmentation_id'],
            )
        )
        self.friend, self.stranger = (
            Host(
                settings.prefix(demo.state),
                f'{self.name}-{who}',
                bridge,
                str(self.cidr[host]),
                self.cidr.prefixlen,
            )
            for who, host in (
                ('friend', 0x101 if self.cidr.version == 6 else 101),
                ('stranger', 0x102 if self.cidr.version == 6 else 102),
            )
        )
        self.stories = {self.friend: [], self.stranger: ['refused: no rule']}

    def read(self, name):
        """Return the content of a file, read by the friend."""
        self.stories[self.friend].append(f'reads {name}')
        return must(self.friend.nfs(self.server, self.path, 'read', name))

    def write(self, name, text):
        """Let the friend write a file."""
        self.stories[self.friend].append(f'writes {name}')
        must(self.friend.nfs(self.server, self.path, 'write', name, text))

    def refuse(self, demo):
        """Check that the stranger is refused."""
        said = refused(self.stranger.nfs(self.server, self.path, 'list'))
        demo.say(f'{self.stranger.address} was granted nothing and is refused on {self.server}: {said}')


def make(netns):
    """Make a network namespace without a wire."""
    add(netns)
    ip(netns, 'link', 'set', 'lo', 'up')


def spaces(prefix):
    """Return the network namespaces of a scenario."""
    return (
        sorted(name for name in os.listdir('/run/netns') if name.startswith(prefix))
        if os.path.isdir('/run/netns')
        else []
    )


def gone(prefix):
    """Delete the hosts of the scenario, with their ports: a namespace that only lost its name would keep its port for long."""
    for netns in spaces(prefix):
        if netns.endswith('-fabric'):
            continue
        if any(link['ifname'] == _PORT for link in links(netns)):
            ip(netns, 'link', 'delete', _PORT)
        delete(netns)


def none_left(demo):
    """Check that the scenario has no network namespace any more."""
    if left := spaces(settings.prefix(demo.state)):
        raise Trouble(f'network namespaces are left: {", ".join(left)}')
    demo.say('shares, share servers, network namespaces left: 0')
