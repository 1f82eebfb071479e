# SPDX-License-Identifier: Apache-2.0
"""Base of tests of share servers of a linux backend: a fabric of the test's own, and clients on its bridges."""

import contextlib
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import psutil
import testtools
from oslo_config import cfg
from oslo_utils import uuidutils

from manila_lite import values
from manila_lite.drivers import load
from manila_lite.drivers.linux.servers.fabric import bridge_of
from manila_lite.tests import nfs_client, waiting
from manila_lite.tests.functional.linux import base
from manila_lite.tests.linux_teardown import tear_down

SUBNETS = {
    'four': {
        'cidr': '10.66.1.0/24',
        'ip_version': 4,
        'gateway': '10.66.1.1',
        'network_type': 'vlan',
        'segmentation_id': 11,
    },
    'six': {
        'cidr': 'fd66:2::/64',
        'ip_version': 6,
        'gateway': 'fd66:2::1',
        'network_type': 'vxlan',
        'segmentation_id': 4012,
    },
    'more': {'cidr': '10.66.3.0/25', 'ip_version': 4, 'gateway': '10.66.3.1', 'neutron_net_id': 'a-flat-one'},
    'more-six': {
        'cidr': 'fd66:4::/64',
        'ip_version': 6,
        'gateway': 'fd66:4::1',
        'network_type': 'vxlan',
        'segmentation_id': 4014,
    },
    'twin': {'cidr': '10.66.1.0/24', 'ip_version': 4, 'network_type': 'vlan', 'segmentation_id': 15},
}


def address(subnet, host):
    """Return an address in a subnet."""
    start = SUBNETS[subnet]['cidr'].partition('/')[0]
    return f'{start}{host}' if ':' in start else f'{start.rpartition(".")[0]}.{host}'


def network(subnet, host):
    """Return the subnet with an allocation for a share server."""
    about = SUBNETS[subnet]
    allocation = values.Allocation(
        uuidutils.generate_uuid(), address(subnet, host), subnet_id=subnet, **about
    )
    return values.ServerNetwork(subnet, allocations=(allocation,), **about)


class Machine:
    """A backend and its clients, and a list of their traces on the machine."""

    def __init__(self):
        self.mark = uuidutils.generate_uuid(dashed=False)[:6]
        self.state = Path(tempfile.mkdtemp(prefix='ml-servers-'))
        self.fabric = f'ml{self.mark}-fabric'
        self.ports = []
        self.spaces = [self.fabric]

    def driver(self, state='state', more=''):
        """Return a driver for the backend, as another share manager would make it.

        ``state``: another name makes another backend. ``more``: lines of its section.
        """
        file = self.state / f'{state}.conf'
        file.write_text(
            f'[linux]\ndriver_handles_share_servers = true\nlinux_pool_path = {self.state / state}.img\n'
            f'linux_pool_size_gb = 4\nlinux_graceless = true\nlinux_fabric_netns = {self.fabric}\n{more}'
        )
        conf = cfg.ConfigOpts()
        conf([], default_config_files=[str(file)])
        return load.make('linux', 'linux', 'test@linux', conf, self.state / state)

    def server(self, *subnets, host=5):
        """Return a share server in these subnets, not set up yet."""
        server = values.ShareServer(
            uuidutils.generate_uuid(), tuple(network(subnet, host) for subnet in subnets)
        )
        self.spaces.append(f'manila-{server.id}')
        return server

    def space(self, name):
        """Return the namespace of a client or router; create it first if needed."""
        space = f'ml{self.mark}-{name}'
        if space not in self.spaces:
            base.ip('netns', 'add', space)
            self.spaces.append(space)
            base.ip('-n', space, 'link', 'set', 'lo', 'up')
        return space

    def plug(self, name, bridge, *cidrs):
        """Give a client an interface on an existing bridge of the fabric."""
        space, port = self.space(name), f'c{uuidutils.generate_uuid(dashed=False)[:12]}'
        self.ports.append((name, port))
        base.ip('-n', space, 'link', 'add', port, 'type', 'veth', 'peer', 'name', port, 'netns', self.fabric)
        base.ip('-n', self.fabric, 'link', 'set', port, 'master', bridge, 'up')
        base.ip('-n', space, 'link', 'set', port, 'up')
        for cidr in cidrs:
            base.ip('-n', space, 'addr', 'add', cidr, 'dev', port, *(('nodad',) if ':' in cidr else ()))

    def client(self, name, subnet, host):
        """Add a client to a subnet."""
        self.plug(
            name,
            bridge_of(network(subnet, 1)),
            f'{address(subnet, host)}/{SUBNETS[subnet]["cidr"].partition("/")[2]}',
        )

    def unplug(self, name):
        """Remove the client and its ports. Ports on bridges that only lose their namespace would be removed later."""
        for _, port in [entry for entry in self.ports if entry[0] == name]:
            base.ip('-n', self.fabric, 'link', 'del', port)
        self.ports = [entry for entry in self.ports if entry[0] != name]
        base.ip('netns', 'del', self.space(name))
        self.spaces.remove(f'ml{self.mark}-{name}')

    def clear(self):
        """Remove namespaces and files, whatever the test left."""
        for space in self.spaces:
            subprocess.run(['ip', 'netns', 'del', space], capture_output=True, timeout=waiting.LIMIT)
        shutil.rmtree(self.state, ignore_errors=True)

    def traces(self):
        """Return the present namespaces, mounts, loop devices and processes of the test."""
        mine = str(self.state)
        found = [name for name in os.listdir('/run/netns') if name in self.spaces]
        found += [line for line in Path('/proc/self/mountinfo').read_text().splitlines() if mine in line]
        found += [
            line for line in base.command('losetup', '--list', '--noheadings').splitlines() if mine in line
        ]
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                found += [f'{process.pid} {word}' for word in process.cmdline() if mine in word]
        return found


class MachineTest(testtools.TestCase):
    """Base class of tests with a machine for each test."""

    def setUp(self):
        super().setUp()
        if lacks := base.missing():
            raise unittest.SkipTest(f'real storage needs {lacks}')
        self.machine = Machine()
        self.addCleanup(self.machine.clear)


class ServerTest(testtools.TestCase):
    """One backend with one share server in two subnets, and two clients in each subnet, for the class."""

    #: Further lines of the backend's section.
    OPTIONS = ''

    grant, works, refused = base.LinuxTest.grant, base.LinuxTest.works, base.LinuxTest.refused

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if lacks := base.missing():
            raise unittest.SkipTest(f'real storage needs {lacks}')
        cls.machine = Machine()
        cls.addClassCleanup(cls.machine.clear)
        cls.driver = cls.machine.driver(more=cls.OPTIONS)
        cls.addClassCleanup(lambda: tear_down(cls.driver, remove_data=True))
        cls.driver.setup()
        cls.server = cls.machine.server('four', 'six')
        cls.driver.setup_server(cls.server)
        for name, subnet, host in (
            ('one4', 'four', 101),
            ('two4', 'four', 102),
            ('one6', 'six', 101),
            ('two6', 'six', 102),
        ):
            cls.machine.client(name, subnet, host)

    def share(self, server=None, **more):
        """Create a share; its export locations are in ``locations``."""
        share = values.Share(
            uuidutils.generate_uuid(), 's', 'p', 1, 'NFS', 'pool', server=server or self.server, **more
        )
        self.locations = self.driver.create_share(share)
        self.addCleanup(lambda: self.driver.delete_share(share))
        return share

    def nfs(self, client, server, share, action, *words):
        """Run an NFS command at an address of a share server; return (success, output)."""
        return nfs_client.call(
            server, f'/shares/{share.id}', action, *words, netns=self.machine.space(client)
        )
