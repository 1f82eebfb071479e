# SPDX-License-Identifier: Apache-2.0
"""The life of a file server whose program is sleep(1): started when needed, again after its death, and not after a stop."""

from pathlib import Path

import fixtures
import testtools

from manila_lite.drivers.file_servers import fencing
from manila_lite.drivers.file_servers.file_server import FileServer
from manila_lite.drivers.linux.protocols import samba_shares
from manila_lite.host.commands import CommandFailed
from manila_lite.host.daemon import Daemon
from manila_lite.tests import waiting


class Sleeper(FileServer):
    NAME = 'sleeping server'
    LOGS = ('log',)
    answers = fits = needed = True
    daemons = None
    _trouble = 'it does not come up'

    def __init__(self, state):
        super().__init__(state, state, None)
        self.daemon = Daemon(state / 'daemon.json')
        self.deaf = set()  # pids
        self.daemons = {'sleep': self.daemon}
        self.exports = samba_shares.SmbShares(state, '', lambda *_: None)

    def blocks(self, rules):
        return [], {}

    def _find(self):
        """Return nothing: there is only the record."""

    def _spawn(self):
        self.daemon.start(self.inside(['sleep', '1000']), self._state_dir / 'log', start_key='', env={})

    def _stop(self):
        self.daemon.stop()

    def _answers(self):
        return self.answers and self.process.pid not in self.deaf


class Life(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.state = Path(self.useFixture(fixtures.TempDir()).path)
        self.server = Sleeper(self.state)
        self.addCleanup(self.server.stop)
        self.mounted = 0

    def mount(self):
        self.assertFalse(self.server.running)
        self.mounted += 1

    def test_running_server_is_kept_and_a_dead_one_is_restarted(self):
        self.server.start(self.mount)
        first = self.server.process
        self.server.start(self.mount)
        self.assertEqual(
            (False, first, 1), (self.server.restart_if_dead(), self.server.process, self.mounted)
        )
        first.kill()
        first.wait(waiting.LIMIT)
        self.assertEqual((True, 2), (self.server.restart_if_dead(), self.mounted))
        self.assertNotEqual(first, self.server.process)

    def test_server_is_restarted_when_its_options_change(self):
        self.server.start(self.mount)
        first = self.server.process
        self.server.fits = False
        self.server.start(self.mount)
        self.assertNotEqual(first, self.server.process)

    def test_unneeded_server_is_not_started(self):
        self.server.needed = False
        self.server.start(self.mount)
        self.assertEqual(
            (False, False, False), (self.server.running, self.server.missed, self.server.restart_if_dead())
        )
        self.server.needed = True
        self.assertEqual((True, True), (self.server.restart_if_dead(), self.server.running))

    def test_stopped_server_stays_stopped_until_an_explicit_start(self):
        self.server.start(self.mount)
        self.server.stop()
        self.assertRaises(CommandFailed, self.server.restart_if_dead)
        self.assertRaises(CommandFailed, self.server.start, self.mount, even_if_stopped=False)
        self.assertFalse(self.server.running)
        self.server.start(self.mount)
        self.assertTrue(self.server.running)

    def test_server_that_moved_away_is_not_started(self):
        fencing.note(self.state, 'a-migration')
        self.assertRaises(CommandFailed, self.server.start, self.mount)
        self.assertFalse(self.server.running)

    def test_server_that_ends_at_once_reports_its_log(self):
        self.server.answers = False
        self.server.inside = lambda _: ['sh', '-c', 'echo because >&2']
        refused = self.assertRaises(CommandFailed, self.server.start, self.mount)
        self.assertIn('sleep ended; log: because', str(refused))

    def test_server_that_does_not_answer_is_restarted(self):
        self.impatient(_READY_SECONDS=0.1, _LONGEST_START=0)
        self.server.start(self.mount)
        first = self.server.process
        self.server.deaf.add(first.pid)
        self.server.start(self.mount)
        self.assertNotEqual(first, self.server.process)
        self.assertEqual((True, 2), (self.server.running, self.mounted))

    def test_slowly_starting_server_is_not_restarted(self):
        self.impatient(_READY_SECONDS=0.1)
        self.server.answers = False
        for _ in range(2):
            refused = self.assertRaises(CommandFailed, self.server.start, self.mount)
            self.assertIn('does not answer', str(refused))
        slow = self.server.process
        self.server.answers = True
        self.server.start(self.mount)
        self.assertEqual((slow, 1), (self.server.process, self.mounted))

    def impatient(self, **seconds):
        for name, value in seconds.items():
            self.useFixture(
                fixtures.MonkeyPatch(f'manila_lite.drivers.file_servers.file_server.{name}', value)
            )
