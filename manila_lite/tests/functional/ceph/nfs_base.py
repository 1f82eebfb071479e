# SPDX-License-Identifier: Apache-2.0
"""Base of tests of the NFS gateway: a cluster, two hosts with a gateway and two clients, each in a network namespace."""

import functools
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import testtools
from oslo_utils import uuidutils

from manila_lite import values
from manila_lite.drivers.cephfs.nfs import fsal
from manila_lite.tests import lasting, nfs_client, waiting
from manila_lite.tests.functional.ceph import host
from manila_lite.tests.functional.linux import base
from manila_lite.tests.security import nfs4
from manila_lite.tests.services import groups
from manila_lite.tests.services.ceph import Ceph
from manila_lite.tests.services.daemon import Missing

#: The address that moves between the hosts, as the last part of the addresses of the fabric.
FLOATS = 9
#: Pool for what hosts share.
SHARED = 'nfs'


def missing():
    """Return what this machine lacks, or an empty text."""
    groups.want('ceph')
    path = os.environ['PATH'] + ':/usr/sbin:/sbin'
    lacks = [
        program
        for program in ('ganesha.nfsd', 'dbus-daemon', 'ip', 'nsenter')
        if not shutil.which(program, path=path)
    ]
    lacks += ['nfs-ganesha-ceph'] if fsal.plugin() is None else []
    return 'root' if os.geteuid() else ', '.join(lacks)


class Fabric(base.Fabric):
    """The fabric, with the address of the gateway, which no host has of its own."""

    def v4(self, host):
        """Return the IPv4 address of a host, or that which moves."""
        return f'10.99.0.{FLOATS}' if host == 'gateway' else super().v4(host)

    def v6(self, host):
        """Return the IPv6 address of a host, or that which moves."""
        return f'fd99::{FLOATS}' if host == 'gateway' else super().v6(host)


#: Classes of tests that use the fabric and its cluster.
TOGETHER = lasting.Group('ceph in a network')


@TOGETHER.keep
def surroundings():
    """Return the fabric of the classes of this group, and the cluster there.

    :raises Missing: a program is not installed.
    """
    fabric = Fabric(ceph=5, nas=1, other=2, one=11, two=12)
    TOGETHER.at_end(fabric.down)
    fabric.up()
    cluster = Ceph(address=fabric.v4('ceph'), netns=fabric.name('ceph'))
    cluster.setUp()
    TOGETHER.at_end(cluster.cleanUp)
    cluster.add_shared_pool(SHARED)
    return fabric, cluster


class GatewayTest(testtools.TestCase):
    """A backend for the class; the host "nas" has its gateway."""

    TOGETHER = TOGETHER

    #: Further lines of the backend's section.
    OPTIONS = ''
    #: Whose addresses clients use.
    SERVER = 'gateway'

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if lacks := missing():
            raise unittest.SkipTest(f'an NFS gateway needs {lacks}')
        cls.state = Path(tempfile.mkdtemp(prefix='ml-ceph-'))
        cls.addClassCleanup(shutil.rmtree, cls.state, ignore_errors=True)
        try:
            cls.fabric, cls.cluster = surroundings()
        except Missing as lacks:
            raise unittest.SkipTest(str(lacks)) from lacks
        cls.hosts = {}
        cls.addClassCleanup(cls.power_off)
        cls.nas = cls.host('nas')
        cls.nas.call('setup')

    @classmethod
    def host(cls, name):
        """Return a host, whose share manager has just started."""
        conf = cls.state / f'{name}.conf'
        conf.write_text(
            f'[{host.NAME}]\ncephfs_conf_path = {cls.cluster.conf}\ncephfs_protocol_helper_type = NFS\n'
            f'cephfs_ganesha_export_ips = {cls.fabric.v6("gateway")},{cls.fabric.v4("gateway")}\n'
            f'ganesha_rados_store_enable = true\nganesha_rados_store_pool_name = {SHARED}\n'
            f'cephfs_nfs_interface = eth0\ncephfs_nfs_graceless = true\n{cls.OPTIONS}'
        )
        cls.hosts[name] = host.Host(cls.__name__, cls.fabric.name(name), conf, cls.state / name)
        return cls.hosts[name]

    @classmethod
    def power_off(cls):
        """Kill the share managers and their daemons."""
        for one in cls.hosts.values():
            one.kill()
        base.power_off(cls.state, ())
        for name in cls.hosts:
            cls.forget_addresses(name)

    @classmethod
    def forget_addresses(cls, name):
        """Remove the addresses of the gateway from a host, as the end of its power does."""
        for address in (f'{cls.fabric.v4("gateway")}/32', f'{cls.fabric.v6("gateway")}/128'):
            base.ip('-n', cls.fabric.name(name), 'address', 'flush', 'dev', 'eth0', 'to', address)

    def share(self, on=None, **more):
        """Create a share without access rules."""
        share_id = uuidutils.generate_uuid()
        share = values.Share(share_id, share_id, 'p', 1, 'NFS', host.POOL, **more)
        paths = (on or self.nas).call('create', share)
        self.addCleanup(self._delete, share)
        self.assertEqual(
            [
                f'{self.fabric.v4(self.SERVER)}:/shares/{share.mount_point_name or share.id}',
                f'[{self.fabric.v6(self.SERVER)}]:/shares/{share.mount_point_name or share.id}',
            ],
            paths,
        )
        return share

    def _delete(self, share):
        self.nas.call('delete', share)

    def grant(self, share, *rules, on=None):
        """Apply exactly these rules, given as (address, level); return the errors in their order."""
        return (on or self.nas).call('grant', share, rules)

    def nfs(self, host, share, action, *words, v6=False):
        """Run an NFS command as a client; return (success, output)."""
        address = self.fabric.v6(self.SERVER) if v6 else self.fabric.v4(self.SERVER)
        return nfs_client.call(
            address,
            f'/shares/{share.mount_point_name or share.id}',
            action,
            *words,
            netns=self.fabric.name(host),
        )

    def works(self, *call, **more):
        """Check that the client succeeds; return the output."""
        worked, said = self.nfs(*call, **more)
        self.assertTrue(worked, said)
        return said

    def refused(self, why, *call, **more):
        """Check that the client is refused with this error."""
        worked, said = self.nfs(*call, **more)
        self.assertFalse(worked, f'it worked: {said}')
        self.assertIn(why, said)

    def session(self, host, share, server=None):
        """Return a client that stays mounted until the test ends."""
        client = nfs_client.Session(
            self.fabric.v4(server or self.SERVER), f'/shares/{share.id}', netns=self.fabric.name(host)
        )
        self.addCleanup(client.close)
        return client

    def raw(self, host):
        """Return a client that sends any file handle."""
        client = nfs4.Client(self.fabric.v4(self.SERVER), netns=self.fabric.name(host))
        self.addCleanup(client.close)
        return client

    @functools.cached_property
    def one(self):
        """The address of the first client."""
        return self.fabric.v4('one')

    def addresses(self, name):
        """Return the addresses of a host's interface."""
        return subprocess.run(
            ['ip', '-n', self.fabric.name(name), 'address', 'show', 'dev', 'eth0'],
            check=True,
            capture_output=True,
            text=True,
            timeout=waiting.LIMIT,
        ).stdout


class Levels:
    """The levels of rules, for the tests of a server."""

    def test_access_rules_allow_read_write_read_only_or_no_access(self):
        share = self.share()
        one, two = self.fabric.v4('one'), self.fabric.v4('two')
        self.refused('NOENT', 'one', share, 'list')
        self.assertEqual([None, None], self.grant(share, (one, 'rw'), (two, 'ro')))
        self.works('one', share, 'write', 'f', 'hello')
        self.assertEqual('hello', self.works('two', share, 'read', 'f'))
        self.refused('ROFS', 'two', share, 'write', 'g', 'no')
        self.refused('NOENT', 'one', share, 'read', 'f', v6=True)
        self.grant(share, (self.fabric.v6('two'), 'rw'), ('fd99::/64', 'ro'))
        self.refused('NOENT', 'one', share, 'read', 'f')
        self.works('two', share, 'write', 'f', 'six', v6=True)
        self.assertEqual('six', self.works('one', share, 'read', 'f', v6=True))
        self.refused('ROFS', 'one', share, 'write', 'f', 'x', v6=True)
