# SPDX-License-Identifier: Apache-2.0
"""Teardown of a backend: nothing is left on the machine. A backend that cannot be set up reports the reason."""

import contextlib
import os
import shutil
import tempfile
import unittest
from pathlib import Path

import psutil
import testtools
from oslo_config import cfg

from manila_lite import errors, values
from manila_lite.drivers import load
from manila_lite.host import mounts
from manila_lite.tests.functional.linux import base
from manila_lite.tests.linux_teardown import tear_down


class Traces(testtools.TestCase):
    """Each test has its own state on the machine: mounts, loop devices, processes, files."""

    def setUp(self):
        super().setUp()
        if lacks := base.missing():
            raise unittest.SkipTest(f'real storage needs {lacks}')
        self.fabric = base.Fabric(nas=1)
        self.fabric.up()
        self.addCleanup(self.fabric.down)
        self.root = Path(tempfile.mkdtemp(prefix='ml-traces-'))
        self.addCleanup(shutil.rmtree, self.root, ignore_errors=True)

    def make(self, *, state='state', **options):
        """Return a driver, not set up yet."""
        options = {
            'linux_pool_path': self.root / 'pool.img',
            'linux_pool_size_gb': 1,
            'linux_graceless': 'true',
            'linux_netns': self.fabric.name('nas'),
        } | options
        file = self.root / 'conf'
        file.write_text('[linux]\n' + ''.join(f'{name} = {value}\n' for name, value in options.items()))
        conf = cfg.ConfigOpts()
        conf([], default_config_files=[str(file)])
        driver = load.make('linux', 'linux', 'test@linux', conf, self.root / state)
        self.addCleanup(lambda: tear_down(driver, remove_data=True))
        return driver

    def traces(self):
        """Return the traces of this test on the machine."""
        mine = str(self.root)
        found = [line for line in Path('/proc/self/mountinfo').read_text().splitlines() if mine in line]
        found += [
            line for line in base.command('losetup', '--list', '--noheadings').splitlines() if mine in line
        ]
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                found += [
                    word
                    for word in process.cmdline()
                    if word.startswith(f'--config-file={mine}')
                    or (word.endswith('ganesha.conf') and mine in word)
                ]
        return found

    def used(self, driver):
        """Set the driver up; create a share with a snapshot."""
        driver.setup()
        share = values.Share('a-share', 's', 'p', 1, 'NFS', 'pool')
        driver.create_share(share)
        driver.update_access(share, [values.AccessRule('r', 'ip', '10.99.0.0/24', 'rw')])
        driver.create_snapshot(values.Snapshot('a-snapshot', share, 1))
        return share

    def test_teardown_leaves_nothing_but_data(self):
        driver = self.make()
        self.used(driver)
        self.assertEqual(5, len(self.traces()), self.traces())  # pool, share, loop device, two daemons
        tear_down(driver)
        self.assertEqual([], self.traces())
        self.assertTrue((self.root / 'pool.img').exists())
        (self.root / 'pool.img.new').touch()  # of a set-up that was killed
        tear_down(driver, remove_data=True)
        tear_down(driver, remove_data=True)
        self.assertEqual(['conf'], os.listdir(self.root))

    def test_teardown_leaves_nothing_even_while_a_file_is_open(self):
        driver = self.make()
        share = self.used(driver)
        with (driver.parts.protocol_servers.of('NFS').mount_point(share.id) / 'busy').open('w'):
            tear_down(driver, remove_data=True)
            self.assertFalse([line for line in self.traces() if 'loop' not in line])
        self.assertEqual([], self.traces())

    def test_block_device_without_btrfs_is_refused_and_one_with_btrfs_is_used(self):
        image = self.root / 'device.img'
        with image.open('wb') as file:
            file.truncate(1 << 30)
        device = mounts.attach(image)
        self.addCleanup(mounts.detach, image)
        driver = self.make(linux_pool_path=device)
        refused = self.assertRaises(errors.Final, driver.setup)
        self.assertIn(device, str(refused))
        base.command('mkfs.btrfs', '--quiet', device)
        self.used(driver)
        tear_down(driver, remove_data=True)
        driver.setup()
        self.assertFalse(driver.parts.pool.share('a-share').exists())

    def test_foreign_file_at_the_pool_path_is_refused_and_kept(self):
        precious = self.root / 'pool.img'
        precious.write_text('precious' * 1000)
        refused = self.assertRaises(errors.Final, self.make().setup)
        self.assertIn('pool.img', str(refused))
        self.assertEqual('precious' * 1000, precious.read_text())

    def test_setup_fails_when_the_nfs_port_is_taken(self):
        first, second = self.make(), self.make(state='other', linux_pool_path=self.root / 'other.img')
        first.setup()
        refused = self.assertRaises(errors.Final, second.setup)
        self.assertIn('2049', str(refused))

    def test_teardown_leaves_nothing_with_a_long_or_linked_state_path(self):
        (self.root / ('long' * 30)).mkdir()
        (self.root / 'link').symlink_to(self.root / ('long' * 30))
        for state in ('long' * 30 + '/state', 'link/state'):
            driver = self.make(state=state)
            share = self.used(driver)
            driver.update_access(share, [])
            self.assertEqual(5, len(self.traces()), self.traces())
            tear_down(driver, remove_data=True)
            self.assertEqual([], self.traces())

    def test_pool_reports_no_more_space_than_its_host_has(self):
        host = os.statvfs(self.root)
        room = host.f_bavail * host.f_frsize / (1 << 30)
        driver = self.make(linux_pool_size_gb=int(room) + 500)
        driver.setup()
        (pool,) = driver.report()
        self.assertLessEqual(pool.free_gb, room + 2)
        self.assertLessEqual(pool.total_gb, room + 5)

    def test_bad_configuration_is_refused_with_a_hint(self):
        driver = self.make()
        self.assertEqual((), tuple(driver.check(driver.backend)))
        (self.root / 'pool.img').mkdir()
        for options, hint in (
            ({'linux_netns': 'no-such-space'}, 'ip netns add no-such-space'),
            ({'linux_pool_type': 'btrfs'}, 'linux_pool_type = directory'),
        ):
            refused = self.assertRaises(errors.BadConfig, self.make, **options)
            self.assertIn(hint, str(refused))
        (self.root / 'pool.img').rmdir()
