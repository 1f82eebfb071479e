# SPDX-License-Identifier: Apache-2.0
"""Changes of share servers, and a guard that lets go: in either order, nothing is made after it has let go."""

import contextlib
import signal
import subprocess
import sys
import time
from pathlib import Path

import fixtures
import psutil
import testtools

from manila_lite.drivers.linux.failover import letting_go
from manila_lite.drivers.linux.failover.changes import End, change, presence
from manila_lite.drivers.linux.failover.task import FailoverTask
from manila_lite.host.commands import CommandFailed
from manila_lite.tests import process, waiting

#: A share manager that runs a command in a change; both take very long.
_CHANGES = """
import sys
from pathlib import Path
from manila_lite.drivers.linux.failover import changes, task
from manila_lite.host import commands
files = task.Files(Path(sys.argv[1]))
with changes.change(files, files.served_by()):
    commands.run('sleep', '1000', seconds=2000)
"""


class ChangesTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.task = FailoverTask(
            '/dev/null', self.useFixture(fixtures.TempDir()).path, 'no-such-fabric', 'token'
        )
        self.files = self.task.files
        self.files.allow_until(time.clock_gettime(time.CLOCK_BOOTTIME) + 600)
        self.files.begin_to_serve()

    def _change(self, serving=None):
        with change(self.files, self.files.served_by() if serving is None else serving):
            pass

    def _refused(self, serving=None):
        self.assertIn('has let go of the pool', str(self.assertRaises(CommandFailed, self._change, serving)))

    def test_changes_are_made_beside_each_other_while_the_host_serves(self):
        with change(self.files, self.files.served_by()):
            self._change()

    def test_nothing_is_changed_once_the_guard_begins_to_let_go(self):
        self.files.fenced.touch()
        self._refused()

    def test_nothing_is_changed_after_the_lease(self):
        self.files.allow_until(time.clock_gettime(time.CLOCK_BOOTTIME) - 1)
        self._refused()

    def test_nothing_is_changed_for_a_share_manager_that_has_no_guard(self):
        self._refused(serving='')
        self.files.serving.unlink()
        self._refused(serving='')

    def test_nothing_of_an_earlier_time_is_changed_when_another_guard_serves(self):
        before = self.files.served_by()
        self.files.begin_to_serve()
        self._refused(serving=before)
        self._change()

    def test_nothing_is_changed_while_a_guard_lets_go_that_could_not_say_so(self):
        """Have the guard do that on a full disk: the lock needs no space."""
        self._change()
        with End(self.files) as end:
            end.require()
            self._refused()

    def test_host_serves_from_the_mount_until_the_guard_begins_to_let_go(self):
        self.assertEqual(self.files.served_by(), presence(self.files))
        self.files.fenced.touch()
        self.assertEqual('', presence(self.files))
        self.files.fenced.unlink()
        self.files.allow_until(0)
        self.assertEqual('', presence(self.files))

    def test_guard_that_lets_go_sees_a_change(self):
        with change(self.files, self.files.served_by()), End(self.files) as end:
            self.assertIn('is being changed', str(self.assertRaises(CommandFailed, end.require)))
            self.assertTrue(letting_go.has_remains(self.task))
        self.assertFalse(letting_go.has_remains(self.task))

    def _manager(self):
        """Return a share manager, and the command that it runs in a change."""
        manager = subprocess.Popen(
            [sys.executable, '-c', _CHANGES, str(self.files.folder)], cwd=Path(letting_go.__file__).parents[4]
        )
        self.addCleanup(manager.wait)
        self.addCleanup(manager.kill)
        [command] = waiting.until(lambda: psutil.Process(manager.pid).children(), 'the command runs')
        waiting.until(lambda: command.name() == 'sleep', 'it is the command')
        self.addCleanup(self._kill, command)
        return manager, command

    @staticmethod
    def _kill(process):
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()

    def test_share_manager_that_hangs_in_a_change_is_killed_with_its_command(self):
        manager, command = self._manager()
        for one in (command, psutil.Process(manager.pid)):
            one.send_signal(signal.SIGSTOP)
        self.files.fenced.touch()
        letting_go.let_go(self.task)
        self.assertEqual(-signal.SIGKILL, manager.wait(waiting.LIMIT))
        waiting.until(lambda: process.has_ended(command), 'the command has ended')
        self.assertFalse(letting_go.has_remains(self.task))

    def test_command_of_a_share_manager_that_died_in_a_change_is_killed(self):
        manager, command = self._manager()
        manager.kill()
        manager.wait(waiting.LIMIT)
        self.assertTrue(letting_go.has_remains(self.task))
        self.files.fenced.touch()
        letting_go.let_go(self.task)
        waiting.until(lambda: process.has_ended(command), 'the command has ended')
        self.assertFalse(letting_go.has_remains(self.task))
