# SPDX-License-Identifier: Apache-2.0
import threading
from pathlib import Path

import fixtures
import testtools

from manila_lite.drivers.file_servers import fencing
from manila_lite.drivers.file_servers.ganesha import Ganesha
from manila_lite.drivers.linux.protocols.vfs import Vfs
from manila_lite.host.commands import CommandFailed
from manila_lite.tests import waiting


class HaltingTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.home = Path(self.useFixture(fixtures.TempDir()).path)

    def test_note_is_kept_until_it_is_dropped(self):
        self.assertEqual('', fencing.by(self.home))
        for _ in range(2):
            fencing.note(self.home, 'm1')
            self.assertEqual('m1', fencing.by(self.home))
        for _ in range(2):
            fencing.drop(self.home)
            self.assertEqual('', fencing.by(self.home))

    def test_server_that_moved_away_is_not_started(self):
        fencing.note(self.home, 'm1')
        server = Ganesha(self.home, 2049, Vfs(self.home, 64), netns=None, graceless=True, grace=30)
        self.assertRaisesRegex(CommandFailed, 'moved away', server.start, lambda: None)
        self.assertFalse((self.home / 'bus.json').exists())

    def test_second_thread_waits_for_the_exclusive_lock(self):
        entered = threading.Event()
        with fencing.exclusive(self.home):
            other = threading.Thread(target=self._enter, args=(entered,))
            other.start()
            self.assertFalse(entered.wait(0.1))
        other.join(waiting.LIMIT)
        self.assertTrue(entered.is_set())

    def _enter(self, entered):
        with fencing.exclusive(self.home):
            entered.set()
