# SPDX-License-Identifier: Apache-2.0
"""The guard beside other hosts. functional/linux/test_failover.py mounts."""

import threading
import time
from pathlib import Path

import fixtures
import testtools

from manila_lite.drivers.linux.failover import guard, mark
from manila_lite.drivers.linux.failover.task import FailoverTask
from manila_lite.host import commands
from manila_lite.host.commands import CommandFailed
from manila_lite.tests import waiting

_OTHER = mark.Mark('other.boot', 'stor1', '/lib/a')


class GuardTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.state = Path(self.useFixture(fixtures.TempDir()).path)
        self.device = self.state / 'device'
        self.device.write_bytes(bytes(64 << 10))
        self.task = self._task()

    def _task(self, device=None):
        task = FailoverTask(
            str(device or self.device), str(self.state), 'no-such-fabric', 'mine.boot', 'None'
        )
        task.files.token()  # makes the folder
        task.files.allow_until(time.clock_gettime(time.CLOCK_BOOTTIME) + 600)
        return task

    def _refusal(self):
        return str(self.assertRaises(CommandFailed, guard.Guard(self.task).run))

    def _beat(self, seconds):
        self.useFixture(fixtures.MonkeyPatch('manila_lite.drivers.linux.failover.guard.BEAT', seconds))

    def test_device_that_another_host_has_marked_since_is_not_touched(self):
        mark.write(self.device, _OTHER)
        self.assertIn('marked by another host meanwhile', self._refusal())
        self.assertEqual(_OTHER, mark.read(self.device))

    def test_device_is_not_marked_by_a_host_that_may_not_serve_any_more(self):
        self.task.files.allow_until(0)
        self.assertIn('is not renewed', self._refusal())
        self.assertIsNone(mark.read(self.device))

    def test_guard_whose_beats_hang_sees_that_another_host_was_later(self):
        """Have the other host write its mark in the same moment: nothing is mounted here, and its mark stays."""
        self._beat(waiting.LIMIT)
        write = mark.write

        def both(device, one):
            write(device, one)
            write(device, _OTHER)

        self.useFixture(fixtures.MonkeyPatch('manila_lite.drivers.linux.failover.mark.write', both))
        self.assertIn('another host has marked the pool', self._refusal())
        self.assertEqual(_OTHER, mark.read(self.device))

    def test_pool_that_cannot_be_mounted_is_marked_as_free(self):
        self.assertIn('mount', self._refusal())
        found = mark.read(self.device)
        self.assertEqual(('mine.boot', True), (found.token, found.free))
        self.assertEqual('', self.task.files.served_by())

    def test_pool_has_an_hour_to_be_mounted(self):
        """Have the mount say how long it may take: none takes that long here."""

        def mount(device, path, *options, seconds=commands.SECONDS):
            raise CommandFailed(f'it may take {seconds:g} s')

        self.useFixture(fixtures.MonkeyPatch('manila_lite.host.mounts.mount', mount))
        self.assertIn('may take 3600 s', self._refusal())

    def test_remains_are_removed_when_the_device_cannot_be_read(self):
        task = self._task('/nowhere')
        task.files.begin_to_serve()
        task.files.left.write_text('["s"]')
        guard.Guard(task).leave()
        self.assertEqual(
            (True, False, ''), (task.files.fenced.exists(), task.files.left.exists(), task.files.served_by())
        )

    def test_beats_go_on_after_trouble(self):
        """Have one of them find no memory."""
        self._beat(0.05)
        mark.write(self.device, self.task.marked())
        left, read, this = [MemoryError('no memory')], mark.read, threading.current_thread()

        def fails_once(device):
            if left and threading.current_thread() is not this:
                raise left.pop()
            return read(device)

        self.useFixture(fixtures.MonkeyPatch('manila_lite.drivers.linux.failover.mark.read', fails_once))
        beating = guard.Guard(self.task)
        self.addCleanup(beating._set_free)
        beating._beats.start()
        waiting.until(lambda: mark.read(self.device).beat > 1, 'beats')
        self.assertEqual([], left)
