# SPDX-License-Identifier: Apache-2.0
import threading
from pathlib import Path

import fixtures
import testtools

from manila_lite.drivers.linux import halting
from manila_lite.drivers.linux.ganesha import Ganesha
from manila_lite.drivers.linux.run import CommandFailed


class HaltingTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.home = Path(self.useFixture(fixtures.TempDir()).path)

    def test_note_and_back(self):
        self.assertEqual('', halting.by(self.home))
        for _ in range(2):
            halting.note(self.home, 'm1')
            self.assertEqual('m1', halting.by(self.home))
        for _ in range(2):
            halting.drop(self.home)
            self.assertEqual('', halting.by(self.home))

    def test_a_server_that_went_away_is_not_started(self):
        halting.note(self.home, 'm1')
        server = Ganesha(self.home, 2049, netns=None, graceless=True, grace=30)
        self.assertRaisesRegex(CommandFailed, 'moved away', server.start, lambda: None)
        self.assertFalse((self.home / 'bus.json').exists())

    def test_alone_also_between_openings_of_the_lock(self):
        entered = threading.Event()
        with halting.alone(self.home):
            other = threading.Thread(target=self._enter, args=(entered,))
            other.start()
            self.assertFalse(entered.wait(0.1))
        other.join(30)
        self.assertTrue(entered.is_set())

    def _enter(self, entered):
        with halting.alone(self.home):
            entered.set()
