# SPDX-License-Identifier: Apache-2.0
"""Hosts in the networks of share servers: each a network namespace with one interface on a bridge of the fabric."""

import os

from manila_lite.host.ip import add, delete, ip, links
from manila_lite.tests import nfs_client, nfs_writer

_PORT = 'eth0'


class Host:
    """A client with one address; it is set up when it is made."""

    def __init__(self, prefix, name, bridge, address, length):
        self.netns = f'{prefix}-{name}'
        self.name = name
        self.address = address
        fabric = f'{prefix}-fabric'
        add(self.netns)
        ip(self.netns, 'link', 'set', 'lo', 'up')
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
        return nfs_writer.Writer(address, path, self.netns)


def make(netns):
    """Make a network namespace without a wire, unless it exists."""
    if netns not in spaces(netns):
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
