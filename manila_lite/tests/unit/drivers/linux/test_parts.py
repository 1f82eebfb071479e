# SPDX-License-Identifier: Apache-2.0
"""The services of a backend, without a driver: a pool in a plain directory, and no file server that runs."""

import time
from pathlib import Path

import fixtures
import testtools
from oslo_config import cfg

from manila_lite import errors, values
from manila_lite.conf import backend as backend_conf
from manila_lite.conf import register_module
from manila_lite.drivers.interface import Backend, abilities_of
from manila_lite.drivers.linux import report
from manila_lite.drivers.linux.driver import LinuxDriver
from manila_lite.drivers.linux.lifecycle import LinuxLifecycle
from manila_lite.drivers.linux.options import OPTIONS
from manila_lite.drivers.linux.parts import Parts
from manila_lite.drivers.linux.pool.btrfs_pool import BtrfsPool
from manila_lite.drivers.linux.pool.directory import Directory
from manila_lite.drivers.linux.pool.make_pool import make_pool
from manila_lite.drivers.linux.shares.exports import ShareExports
from manila_lite.drivers.recent_sizes import RecentSizes
from manila_lite.host.commands import CommandFailed
from manila_lite.tests.linux_teardown import tear_down


class ServicesTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.root = Path(self.useFixture(fixtures.TempDir()).path).resolve()
        (self.root / 'pool').mkdir()

    def backend(self, **options):
        conf = cfg.ConfigOpts()
        conf([], default_config_files=[])
        register_module(conf, backend_conf)
        backend_conf.register_backend(conf, 'b')
        conf.register_opts(OPTIONS, group='b')
        for name, value in {'linux_pool_path': str(self.root / 'pool'), **options}.items():
            conf.set_override(name, value, group='b')
        return Backend('b', 'h@b', conf.b, self.root / 'state')

    def test_pool_type_follows_the_options(self):
        self.assertIsInstance(make_pool(self.root, self.backend().conf), Directory)
        self.assertIsInstance(make_pool(self.root, self.backend(linux_pool_type='btrfs').conf), BtrfsPool)

    def test_shared_pool_is_opened_only_while_this_host_may_serve(self):
        backend = self.backend(
            linux_pool_fence='guard', driver_handles_share_servers=True, linux_pool_path='/dev/nothing'
        )
        parts = Parts(backend)
        self.assertIn('may not serve', str(self.assertRaises(CommandFailed, parts.pool.open)))
        server = values.ShareServer('s')
        for call in (lambda: parts.share_servers.ensure(server), lambda: parts.share_servers.prepare('s')):
            self.assertIn('has let go of the pool', str(self.assertRaises(CommandFailed, call)))
        self.assertEqual([], parts.share_servers.folders())
        parts.keeper.take_up(time.clock_gettime(time.CLOCK_BOOTTIME) + 600)
        self.assertIn('not a block device', str(self.assertRaises(CommandFailed, parts.pool.open)))
        self.assertTrue(parts.keeper.keep(time.clock_gettime(time.CLOCK_BOOTTIME) + 600))
        (self.root / 'state' / 'guard' / 'fenced').touch()
        self.assertFalse(parts.keeper.keep(time.clock_gettime(time.CLOCK_BOOTTIME) + 600))
        parts.keeper.stand_back()
        self.assertFalse((self.root / 'state' / 'guard' / 'fenced').exists())

    def test_each_mode_has_its_own_exports(self):
        share = values.Share('a', 'a', 'p', 1, 'NFS', 'pool')
        parts = Parts(self.backend())
        self.assertRaisesRegex(errors.Final, 'plain directory', parts.exports.protocol_server_of, share)
        parts = Parts(self.backend(linux_pool_type='btrfs'))
        self.assertIs(parts.protocol_servers.of('NFS'), parts.exports.protocol_server_of(share))
        parts = Parts(self.backend(driver_handles_share_servers=True))
        self.assertRaisesRegex(errors.Final, 'no share server', parts.exports.protocol_server_of, share)

    def test_qos_needs_a_share_server_for_each_share(self):
        self.assertFalse(Parts(self.backend(max_shares_per_share_server=1)).qos.is_supported)
        self.assertFalse(Parts(self.backend(driver_handles_share_servers=True)).qos.is_supported)
        both = self.backend(driver_handles_share_servers=True, max_shares_per_share_server=1)
        self.assertTrue(Parts(both).qos.is_supported)

    def test_backend_tear_down_removes_its_data(self):
        driver = LinuxDriver(self.backend())
        driver.parts.pool.open()
        driver.parts.pool.create('a', 1)
        tear_down(driver, remove_data=True)
        self.assertEqual([], list(self.root.glob('**/a')))

    def test_report_of_a_directory_lacks_snapshots_and_size_limits(self):
        conf = self.backend(linux_export_ips=['10.0.0.1']).conf
        pool = make_pool(self.root, conf)
        pool.open()
        shown = report.report(
            conf,
            pool,
            exports=ShareExports(frozenset({'CIFS'}), list, None, {'CIFS': 4450}),
            has_qos=False,
            replication={'replication_type': ['dr']},
            capabilities={'snapshot_support': True, 'driver_handles_share_servers': False},
        ).capabilities
        self.assertEqual(
            (False, False, True, False, 'CIFS'),
            tuple(
                shown[name]
                for name in (
                    'snapshot_support',
                    'size_limit_support',
                    'ipv4_support',
                    'ipv6_support',
                    'storage_protocol',
                )
            ),
        )
        self.assertNotIn('replication_type', shown)
        self.assertEqual({'CIFS': 'port=4450'}, shown['mount_options'])
        self.assertEqual(
            {'space': '', 'users': ''},
            {name: text for name, text in report.fingerprint(conf).items() if name in ('space', 'users')},
        )

    def test_last_size_is_remembered_until_forgotten(self):
        sizes = RecentSizes()
        sizes.remember('a', 1)
        sizes.remember('a', 2)
        self.assertEqual((2, None), (sizes.get('a'), sizes.get('b')))
        sizes.forget('a')
        sizes.forget('b')
        self.assertIsNone(sizes.get('a'))


class DriverTest(testtools.TestCase):
    def test_driver_lacks_only_what_its_pages_name(self):
        lacking = {
            values.Ability.SECURITY_SERVICES,
            values.Ability.SUBNET_METADATA,
            values.Ability.MIGRATE_REPLICATED,
        }
        self.assertEqual(set(values.Ability) - lacking, abilities_of(LinuxDriver))
        self.assertTrue(issubclass(LinuxDriver, LinuxLifecycle))
