# SPDX-License-Identifier: Apache-2.0
"""An NFS server that does not answer: starts and stops end in time, and say why."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import psutil
import testtools
from oslo_utils import uuidutils

from manila_lite import errors
from manila_lite.host.commands import run
from manila_lite.siblings.compute.drivers.interface import Health, MountedShare
from manila_lite.siblings.compute.drivers.qemu import QemuDriver
from manila_lite.tests import waiting
from manila_lite.tests.functional.linux import test_mount
from manila_lite.tests.functional.siblings.compute import driver_contract, test_qemu_driver
from manila_lite.tests.functional.siblings.compute.guests import GuestTest

#: Accepts connections, and never answers.
_DEAF = """
import socket, sys
listener = socket.create_server(('127.0.0.1', 2049))
print('ready', flush=True)
while True:
    kept = listener.accept()
"""


@unittest.skipIf(test_mount.lacks(), f'a mount in user space needs {test_mount.lacks()}')
class Deaf(testtools.TestCase):
    """The driver's mounts, with an NFS server that accepts connections and never answers."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        test_qemu_driver.need()

    def setUp(self):
        super().setUp()
        space = f'mlc-{uuidutils.generate_uuid()[:8]}'
        run('ip', 'netns', 'add', space)
        self.addCleanup(run, 'ip', 'netns', 'del', space)
        run('ip', '-n', space, 'link', 'set', 'lo', 'up')
        deaf = subprocess.Popen(
            ['nsenter', f'--net=/run/netns/{space}', sys.executable, '-c', _DEAF],
            stdout=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(deaf.stdout.close)
        self.addCleanup(deaf.wait, waiting.LIMIT)
        self.addCleanup(deaf.kill)
        self.assertEqual('ready', deaf.stdout.readline().strip())
        folder = Path(tempfile.mkdtemp(prefix='mlc-'))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        self.driver = QemuDriver(
            driver_contract.configured(
                QemuDriver, folder, mount_way='fuse', mount_netns=space, mount_timeout=2, unmount_timeout=1
            )
        )

    def test_nothing_is_mounted_over_files(self):
        share = MountedShare(uuidutils.generate_uuid(), 'tag', '127.0.0.1:/shares/a')
        Path(self.driver.directory_of(share)).mkdir(parents=True)
        kept = Path(self.driver.directory_of(share), 'kept')
        kept.write_text('of somebody')
        refused = self.assertRaises(errors.Final, self.driver.share_mount, share)
        self.assertIn('is not empty', str(refused))
        self.assertEqual('of somebody', kept.read_text())

    def test_mount_ends_in_time_and_leaves_nothing(self):
        share = MountedShare(uuidutils.generate_uuid(), 'tag', '127.0.0.1:/shares/a')
        began = time.monotonic()
        refused = self.assertRaises(errors.Final, self.driver.share_mount, share)
        self.assertLess(time.monotonic() - began, 30)
        self.assertEqual(f'The NFS server of share {share.id} did not answer within 2 s.', str(refused))
        self.assertIs(Health.MISSING, self.driver.mount_health(share))
        self.assertEqual(
            [],
            [
                one
                for one in psutil.process_iter(['cmdline'])
                if self.driver.directory_of(share) in (one.info['cmdline'] or ())
            ],
        )


class Silent(GuestTest):
    """The NFS server of the share service is stopped by a signal, and goes on later."""

    MORE = 'mount_timeout = 3\nunmount_timeout = 2\nmount_check_timeout = 1\n'

    def storage(self, signo):
        """Send a signal to the NFS server."""
        servers = [
            one
            for one in psutil.process_iter(['cmdline'])
            if any('ganesha' in word for word in (one.info['cmdline'] or ())[:1])
            and str(self.state) in ' '.join(one.info['cmdline'])
        ]
        self.assertNotEqual([], servers)
        for one in servers:
            os.kill(one.pid, signo)

    def fault(self, server, share):
        """Return the fault of the attachment."""
        return self.me.ok('GET', f'/servers/{server}/shares/{share}')['share']['fault']

    def test_starts_and_stops_end_while_the_nfs_server_is_silent(self):
        share, server = self.share(), self.off('red')
        self.me.attach(server, share, tag='data')
        self.on(server)
        self.storage(signal.SIGSTOP)
        self.addCleanup(self.storage, signal.SIGCONT)
        self.until(lambda: self.fault(server, share), 'the next look sees it')
        self.assertEqual(
            'The NFS server of the share does not answer; the share works again when it does.',
            self.fault(server, share),
        )
        began = time.monotonic()
        self.me.act(server, 'os-stop')
        self.me.wait(server, 'SHUTOFF', 'ERROR')
        self.me.attached(server, share, 'inactive')
        self.assertLess(time.monotonic() - began, 60)
        self.assertEqual((set(), []), (self.mounts(), self.processes('virtiofsd')))
        self.me.act(server, 'os-start')
        said = self.me.wait(server, 'ERROR')['fault']['message']
        self.assertEqual(f'The NFS server of share {share} did not answer within 3 s.', said)
        self.assertEqual(said, self.me.attached(server, share, 'error')['fault'])
        self.storage(signal.SIGCONT)
        self.on(server)
        self.assertIsNone(self.me.attached(server, share, 'active')['fault'])
