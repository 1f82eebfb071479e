# SPDX-License-Identifier: Apache-2.0
"""Two share managers for one CephFS backend, on hosts of their own: with its lease, the NFS server moves to the other host."""

import contextlib
import signal
import sys
import time
import unittest
from pathlib import Path

import fixtures
import testtools
from oslo_utils import uuidutils

from manila_lite.tests import nfs_client, process
from manila_lite.tests.functional.ceph import nfs_base
from manila_lite.tests.functional.linux import base
from manila_lite.tests.security import nfs4
from manila_lite.tests.services.daemon import Missing

_LEASE = 4
_WITHIN = 10.0
_TYPE = {
    'share_type': {
        'name': 'default',
        'extra_specs': {'driver_handles_share_servers': 'False', 'snapshot_support': 'True'},
    }
}
_BACKEND = """driver = cephfs
cephfs_conf_path = {conf}
cephfs_protocol_helper_type = NFS
cephfs_ganesha_export_ips = {v4}
ganesha_rados_store_enable = true
ganesha_rados_store_pool_name = {pool}
cephfs_nfs_interface = eth0
cephfs_nfs_graceless = true
"""


class Takeover(testtools.TestCase):
    TOGETHER = nfs_base.TOGETHER

    def setUp(self):
        super().setUp()
        if lacks := nfs_base.missing():
            raise unittest.SkipTest(f'an NFS gateway needs {lacks}')
        try:
            self.fabric, self.cluster = nfs_base.surroundings()
        except Missing as lacks:
            raise unittest.SkipTest(str(lacks)) from lacks
        self.state = Path(self.useFixture(fixtures.TempDir()).path)
        self.address = self.fabric.v4('gateway')
        self.parts = self.useFixture(
            process.Parts(
                f'[database]\nconnection = sqlite:///{self.state}/rows.sqlite\n',
                _BACKEND.format(conf=self.cluster.conf, v4=self.address, pool=nfs_base.SHARED),
            )
        )
        self.parts.edit('lease = 60', f'lease = {_LEASE}')
        self.parts.edit('host = test', f'host = {uuidutils.generate_uuid()}')
        self.addCleanup(self.power_off)
        for name in ('api', 'scheduler'):
            self.parts.run(name)
        self.nas = self.manager('nas')
        self.parts.until(self.parts.answers, 'the API answers')
        self.parts.ok('POST', '/types', _TYPE)
        self.parts.until(self.parts.pools, 'a pool')

    def manager(self, host):
        """Start the share manager of a host."""
        own = self.state / f'{host}.conf'
        common = self.parts.config.read_text()
        own.write_text(
            common.replace(f'state_path = {self.parts.state}', f'state_path = {self.state}/{host}')
        )
        (self.state / host).mkdir(exist_ok=True)
        return self.parts.run(
            'share',
            'nsenter',
            f'--net=/run/netns/{self.fabric.name(host)}',
            sys.executable,
            '-m',
            'manila_lite.cmd.share',
            f'--config-file={own}',
        )

    def power_off(self):
        self.parts.end()
        base.power_off(self.state, ())
        for host in ('nas', 'other'):
            base.ip(
                '-n', self.fabric.name(host), 'address', 'flush', 'dev', 'eth0', 'to', f'{self.address}/32'
            )

    def signal(self, started, signo):
        """Send a signal to a share manager and its daemons."""
        for one in (*process.children(started), started):
            one.send_signal(signo)

    def share(self):
        """Return the path of a share that the first client may write to."""
        share_id = self.parts.share()
        self.parts.wait(f'/shares/{share_id}', 'share', 'available')
        rule = self.parts.ok(
            'POST',
            f'/shares/{share_id}/action',
            {'allow_access': {'access_type': 'ip', 'access_to': self.fabric.v4('one'), 'access_level': 'rw'}},
        )['access']['id']
        self.parts.wait(f'/share-access-rules/{rule}', 'access', 'active', field='state')
        [location] = self.parts.ok('GET', f'/shares/{share_id}/export_locations')['export_locations']
        address, _, path = location['path'].partition(':')
        self.assertEqual(self.address, address)
        return path

    def call(self, path, *words):
        return nfs_client.call(self.address, path, *words, netns=self.fabric.name('one'))

    def handle(self, path):
        """Return the handle of a file in the share."""
        with contextlib.closing(self.client()) as client:
            return client.lookup(client.walk(*path.strip('/').split('/')), 'f')

    def client(self):
        return nfs4.Client(self.address, netns=self.fabric.name('one'))

    def writes(self, handle, content):
        try:
            with contextlib.closing(self.client()) as client:
                client.write(handle, content)
                return client.read(handle, len(content)) == content
        except (OSError, nfs4.Refused):
            return False

    def test_address_and_exports_move_with_the_lease_of_a_manager_that_hangs(self):
        path = self.share()
        self.assertEqual((True, ''), self.call(path, 'write', 'f', 'by nas'))
        handle = self.handle(path)
        self.manager('other')
        self.parts.until(lambda: 'works there; waiting' in self.parts.log.read_text(), 'the other host waits')
        self.assertFalse((self.state / 'other' / 'alpha' / 'kept').exists())
        self.signal(self.nas, signal.SIGSTOP)  # as a machine that hangs
        began = time.monotonic()
        self.parts.until((self.state / 'other' / 'alpha' / 'kept').exists, 'the other host has the address')
        self.parts.until(lambda: self.writes(handle, b'by other'), 'the client writes')
        self.assertLess(time.monotonic() - began, _WITHIN)
        self.signal(self.nas, signal.SIGCONT)
        self.parts.until(
            lambda: not (self.state / 'nas' / 'alpha' / 'kept').exists(), 'the first host has let go'
        )
        self.parts.until(
            lambda: 'stops its work there' in self.parts.log.read_text(), 'the first manager stands back'
        )
        self.assertEqual((True, 'by other'), self.call(path, 'read', 'f'))
        more = self.share()
        self.assertEqual((True, ''), self.call(more, 'write', 'f', 'new'))
