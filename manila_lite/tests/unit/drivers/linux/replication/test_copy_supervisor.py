# SPDX-License-Identifier: Apache-2.0
import threading

import testtools

from manila_lite import errors, values
from manila_lite.drivers.linux.replication.copy_supervisor import CopySupervisor
from manila_lite.host.commands import CommandFailed
from manila_lite.tests import waiting


class _Copy:
    """A copy that ends when told to, with the given result."""

    def __init__(self, ending=None, pieces=0):
        self.rounds, self._ending, self._pieces = 0, ending, pieces
        self.go = threading.Event()

    def approach(self):
        self.go.wait(waiting.LIMIT)
        if self._ending:
            raise self._ending
        self.rounds = 1

    def stop(self):
        self._ending = CommandFailed('stopped')
        self.go.set()

    def pieces(self):
        return self._pieces

    def progress(self):
        return values.MigrationProgress(7)


class SupervisorTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.supervisor = CopySupervisor()
        self.addCleanup(self.supervisor.end_all)
        self.made = []

    def poll(self, *copy):
        """Return the result of a poll, once a running copy has ended."""

        def make():
            self.made.append(_Copy(*copy))
            return self.made[-1]

        for thread in threading.enumerate():
            if thread.name == 'copy':
                thread.join(waiting.LIMIT)
        return self.supervisor.poll('m', make)

    def release(self):
        self.made[-1].go.set()

    def test_repeated_polls_make_only_one_copy(self):
        self.assertFalse(self.poll())
        self.assertFalse(self.supervisor.poll('m', self.fail))
        self.assertEqual(7, self.supervisor.progress('m').percent)
        self.release()
        self.assertTrue(self.poll())
        self.assertTrue(self.poll())
        self.assertEqual(1, len(self.made))

    def test_broken_copy_is_restarted_while_it_makes_progress(self):
        for number in range(8):
            self.assertFalse(self.poll(CommandFailed('broken'), number + 1))
            self.release()
        for _ in range(4):
            self.assertFalse(self.poll(CommandFailed('broken'), 8))
            self.release()
        self.assertRaisesRegex(errors.Final, '5 times', self.poll)

    def test_impossible_copy_fails_with_its_reason(self):
        self.assertFalse(self.poll(errors.Final('never')))
        self.release()
        self.assertRaisesRegex(errors.Final, 'never', self.poll)

    def test_ended_copy_is_begun_anew(self):
        self.assertFalse(self.poll())
        self.supervisor.end('m')
        self.supervisor.end('other')
        self.assertEqual(0, self.supervisor.progress('m').percent)
        self.assertFalse(self.poll())
        self.assertEqual(2, len(self.made))
