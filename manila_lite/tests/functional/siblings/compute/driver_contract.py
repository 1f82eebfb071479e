# SPDX-License-Identifier: Apache-2.0
"""Contract of every hypervisor driver: each call once, twice, and by an agent after a restart.

The guests boot from a disk with one sector that halts, so the tests need no operating system.
"""

import shutil
import tempfile
from pathlib import Path

from oslo_config import cfg
from oslo_utils import uuidutils

from manila_lite import conf as share_conf
from manila_lite import errors
from manila_lite.siblings.compute import conf as options
from manila_lite.siblings.compute.drivers.interface import MountedShare, Power, Server

#: A boot sector that halts for ever.
HALT = bytes.fromhex('f4ebfd').ljust(510, b'\0') + b'\x55\xaa'


def configured(driver, folder, **more):
    """Return a configuration for a driver, with all paths below ``folder``."""
    conf = share_conf.register(cfg.ConfigOpts())
    options.register_opts(conf)
    conf.register_opts(driver.OPTIONS, group=driver.GROUP)
    conf([], project='manila_lite', default_config_files=[])
    conf.set_override('state', str(folder / 's'), 'compute')
    conf.set_override('images', str(folder / 'images'), 'compute')
    for name, value in more.items():
        conf.set_override(name, value, driver.GROUP)
    return conf


class Contract:
    """Mixin for a test case; DRIVER is the class of the driver, MORE its options."""

    DRIVER = None
    MORE = {}

    def setUp(self):
        super().setUp()
        self.folder = Path(self.temporary())
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        (self.folder / 'images').mkdir()
        (self.folder / 'images' / 'halt').write_bytes(HALT)
        self.driver = self.again()
        self.server = self.one()

    def temporary(self):
        """Return a new directory."""
        return tempfile.mkdtemp(prefix='mlc-')

    def again(self):
        """Return a driver as an agent has it after a restart."""
        driver = self.DRIVER(configured(self.DRIVER, self.folder, **self.MORE))
        driver.start()
        self.addCleanup(driver.stop)
        return driver

    def one(self, **more):
        """Create a server on the host; return the server."""
        server = Server(
            **{
                'id': uuidutils.generate_uuid(),
                'project_id': 'p',
                'name': 'n',
                'memory': 32,
                'vcpus': 1,
                'image': 'halt',
                **more,
            }
        )
        self.driver.spawn(server)
        self.addCleanup(self.driver.destroy, server)
        return server

    def share(self, tag='tag'):
        """Mount a share on the host; return the share."""
        share_id = uuidutils.generate_uuid()
        (self.folder / 'shares' / share_id).mkdir(parents=True)
        share = MountedShare(share_id, tag, f'192.0.2.1:/shares/{share_id}')
        self.driver.share_mount(share)
        self.addCleanup(self.driver.share_umount, share)
        return share

    def power(self, server, *shares, driver=None):
        """Return the true power state of the server."""
        return (driver or self.driver).inspect(server, shares).power

    def test_power_on_and_off_can_be_repeated(self):
        self.driver.spawn(self.server)
        self.assertEqual(Power.OFF, self.power(self.server))
        for _ in range(2):
            self.driver.power_on(self.server, ())
            self.assertEqual(Power.RUNNING, self.power(self.server))
            self.assertEqual({self.server.id}, self.driver.list_running())
        self.driver.reboot(self.server, (), hard=True)
        self.assertEqual(Power.RUNNING, self.power(self.server))
        for _ in range(2):
            self.driver.power_off(self.server)
            self.assertEqual(Power.OFF, self.power(self.server))
            self.assertEqual(set(), self.driver.list_running())

    def test_restarted_agent_finds_its_guests(self):
        share = self.share()
        self.driver.power_on(self.server, (share,))
        self.driver.stop()
        other = self.again()
        self.assertEqual({self.server.id}, other.list_running())
        seen = other.inspect(self.server, (share,))
        self.assertEqual((Power.RUNNING, frozenset()), (seen.power, seen.broken))
        other.power_on(self.server, (share,))
        other.power_off(self.server, hard=True)
        self.assertEqual(Power.OFF, self.power(self.server))

    def test_unknown_guests_and_mounts_are_removed(self):
        share = self.share()
        self.driver.power_on(self.server, (share,))
        other = self.again()
        other.discard(self.server.id)
        self.assertEqual(Power.OFF, self.power(self.server))
        other.umount_key(other.mount_key(share))
        self.assertFalse(self.driver.is_mounted(share))
        other.discard(uuidutils.generate_uuid())
        other.power_off(Server(uuidutils.generate_uuid(), 'p', 'n', 32, 1))

    def test_each_export_has_one_mount(self):
        one, two = self.share(), self.share()
        keys = {self.driver.mount_key(share) for share in (one, two)}
        self.assertEqual(2, len(keys))
        self.assertEqual(keys, self.driver.list_mounted())
        self.assertEqual(
            self.driver.mount_key(one), self.driver.mount_key(MountedShare('other', 'tag', one.export))
        )
        for _ in range(2):
            self.driver.share_mount(one)
            self.assertTrue(self.driver.is_mounted(one))
        for _ in range(2):
            self.driver.share_umount(one)
            self.assertFalse(self.driver.is_mounted(one))
        self.assertTrue(self.driver.is_mounted(two))

    def test_suspended_guest_resumes_with_its_memory(self):
        self.driver.power_on(self.server, ())
        self.driver.suspend(self.server)
        self.driver.suspend(self.server)
        self.assertEqual(Power.SAVED, self.power(self.server))
        self.assertEqual(Power.SAVED, self.power(self.server, driver=self.again()))
        self.driver.resume(self.server)
        self.assertEqual(Power.RUNNING, self.power(self.server))
        self.driver.suspend(self.server)
        self.driver.power_off(self.server)
        self.assertEqual(Power.OFF, self.power(self.server))

    def test_disk_calls_can_be_repeated(self):
        self.driver.create_image(self.server, 'copy')
        for _ in range(2):
            self.driver.delete_image(self.server.project_id, 'copy')
        self.driver.rebuild(self.server)
        self.driver.resize(Server(self.server.id, 'p', 'n', 64, 1, image='halt', disk=1))
        self.driver.power_on(self.server, ())
        self.assertEqual(Power.RUNNING, self.power(self.server))

    def test_calls_about_a_missing_guest(self):
        stranger = Server(uuidutils.generate_uuid(), 'p', 'n', 32, 1)
        self.assertRaises(errors.Final, self.driver.resume, stranger)
        self.assertEqual(Power.OFF, self.power(stranger))
