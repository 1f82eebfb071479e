# SPDX-License-Identifier: Apache-2.0
"""Two sections of one host, each with an NFS gateway and without a pool that hosts share."""

import contextlib
import shutil
import tempfile
import unittest
from pathlib import Path

import testtools
from oslo_utils import uuidutils

from manila_lite import values
from manila_lite.host.daemon import Daemon
from manila_lite.tests import nfs_client
from manila_lite.tests.functional.ceph import host, nfs_base
from manila_lite.tests.functional.linux import base
from manila_lite.tests.security import nfs4
from manila_lite.tests.services.daemon import Missing


class Pairs(testtools.TestCase):
    """The host is the one that the cluster is on, with network namespaces beside."""

    TOGETHER = nfs_base.TOGETHER

    def setUp(self):
        super().setUp()
        if lacks := nfs_base.missing():
            self.skipTest(f'an NFS gateway needs {lacks}')
        try:
            self.fabric, self.cluster = nfs_base.surroundings()
        except Missing as lacks:
            raise unittest.SkipTest(str(lacks)) from lacks
        self.state = Path(tempfile.mkdtemp(prefix='ml-ceph-'))
        self.addCleanup(shutil.rmtree, self.state, ignore_errors=True)
        self.addCleanup(base.power_off, self.state, ())

    def section(self, name, served_in, port=2049):
        """Return the share manager of a section, whose NFS server is in the namespace, with the address of that."""
        conf = self.state / f'{name}.conf'
        conf.write_text(
            f'[{host.NAME}]\ncephfs_conf_path = {self.cluster.conf}\ncephfs_protocol_helper_type = NFS\n'
            f'cephfs_ganesha_server_ip = {self.fabric.v4(served_in)}\ncephfs_nfs_port = {port}\n'
            f'cephfs_nfs_netns = {self.fabric.name(served_in)}\ncephfs_nfs_graceless = true\n'
        )
        made = host.Host(name, self.fabric.name('ceph'), conf, self.state / name)
        self.addCleanup(made.kill)
        return made

    def share(self, section):
        """Return a new share that the first client may write to."""
        share_id = uuidutils.generate_uuid()
        share = values.Share(share_id, share_id, 'p', 1, 'NFS', host.POOL)
        section.call('create', share)
        self.addCleanup(section.call, 'delete', share)
        self.assertEqual([None], section.call('grant', share, [(self.fabric.v4('one'), 'rw')]))
        return share

    def session(self, share, served_in):
        """Return a client that has the share mounted."""
        client = nfs_client.Session(
            self.fabric.v4(served_in), f'/shares/{share.id}', netns=self.fabric.name('one')
        )
        self.addCleanup(client.close)
        return client

    def test_gateways_in_namespaces_of_their_own_serve_side_by_side(self):
        """Both have the same port, and begin to number their exports alike."""
        first, second = self.section('first', 'nas'), self.section('second', 'other')
        for section in (first, second):
            section.call('setup')
        mine, theirs = self.share(first), self.share(second)
        one, two = self.session(mine, 'nas'), self.session(theirs, 'other')
        self.assertEqual((True, None), one.call('write', 'f', 'of the first'))
        self.assertEqual((True, None), two.call('write', 'f', 'of the second'))
        self.assertEqual((True, 'of the first'), one.call('read', 'f'))
        self.assertEqual((True, 'of the second'), two.call('read', 'f'))

        server = Daemon(self.state / 'second' / 'ganesha.json')
        before = server.process()
        base.kill(Daemon(self.state / 'first' / 'ganesha.json'))
        first.call('report')
        self.assertEqual((True, 'of the second'), two.call('read', 'f'))
        self.assertEqual((True, 'of the first'), self.session(mine, 'nas').call('read', 'f'))
        self.assertEqual(before, server.process())

    def test_gateways_on_ports_of_their_own_share_an_address(self):
        sections = [self.section('first', 'nas'), self.section('second', 'nas', 2050)]
        for section in sections:
            section.call('setup')
        shares = [self.share(section) for section in sections]
        for port, mine, theirs in ((2049, *shares), (2050, *reversed(shares))):
            with contextlib.closing(
                nfs4.Client(self.fabric.v4('nas'), port, netns=self.fabric.name('one'))
            ) as client:
                root = client.walk('shares', mine.id)
                client.make(root, 'd')
                self.assertEqual([b'd'], client.names(root))
                self.assertRaises(nfs4.Refused, client.walk, 'shares', theirs.id)

    def test_second_gateway_on_the_same_port_of_a_namespace_says_so(self):
        self.section('first', 'nas').call('setup')
        refused = self.assertRaises(host.Refused, self.section('second', 'nas').call, 'setup')
        self.assertTrue(refused.final)
        self.assertIn('is port 2049 in use?', str(refused))
