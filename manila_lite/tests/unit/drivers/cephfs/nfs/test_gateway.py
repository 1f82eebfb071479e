# SPDX-License-Identifier: Apache-2.0
"""The gateway without running it: who may serve, and how many exports there may be."""

from pathlib import Path

import fixtures
import testtools
from oslo_config import cfg

from manila_lite import errors
from manila_lite.drivers.cephfs.nfs import keeper, options
from manila_lite.drivers.cephfs.nfs.fsal import Key
from manila_lite.drivers.cephfs.nfs.gateway import Gateway
from manila_lite.drivers.file_servers import fencing
from manila_lite.host.commands import CommandFailed
from manila_lite.tests.unit.drivers.cephfs.nfs import base


class GatewayTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.objects = base.Objects()
        self.evicted = []

    def gateway(self, **values):
        conf = cfg.ConfigOpts()
        conf.register_opts(options.OPTIONS)
        conf([], default_config_files=[])
        for name, value in values.items():
            conf.set_override(name, value)
        return Gateway(
            Path(self.useFixture(fixtures.TempDir()).path),
            conf,
            ceph_conf='/etc/ceph/ceph.conf',
            filesystem='a',
            node='node',
            key_of=lambda name: Key(name, 'secret'),
            objects=self.objects,
            evict_host=self.evicted.append,
        )

    def test_host_that_takes_over_gives_the_former_time_and_drops_its_own_note(self):
        first, other = self.gateway(), self.gateway()
        self.assertEqual(0.0, first._claim())
        self.assertEqual(0.0, first._claim())
        fencing.note(other._state_dir, 'another host')
        self.assertGreater(other._claim(), 0.0)
        self.assertEqual('', fencing.by(other._state_dir))
        self.assertEqual(
            (other._token.encode(), b''), (self.objects.kept[keeper.HOLDER], self.objects.kept[keeper.FREED])
        )
        self.objects.kept[keeper.FREED] = first._token.encode()
        other._await_former(float('inf'))

    def test_pool_that_cannot_be_used_is_named_with_the_missing_right(self):
        self.objects.away = True
        refused = self.assertRaises(CommandFailed, self.gateway()._claim)
        self.assertIn("client.manila needs osd 'allow rw pool=pool'", str(refused))

    def test_share_beyond_the_limit_is_refused_with_the_option(self):
        gateway = self.gateway(cephfs_nfs_max_exports=1)
        gateway.server.exports._number('a')
        gateway.admit('a')
        refused = self.assertRaises(errors.Final, gateway.admit, 'b')
        self.assertIn('cephfs_nfs_max_exports', str(refused))
