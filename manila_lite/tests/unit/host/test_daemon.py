# SPDX-License-Identifier: Apache-2.0
"""Real processes that are found again and ended, by pid and start time."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import fixtures
import psutil
import testtools

from manila_lite.host import daemon
from manila_lite.tests import waiting

_STRANGER = 65534
_WITHOUT_ITS_FIRST_THREAD = """
import ctypes, threading, time
threading.Thread(target=time.sleep, args=(1000,)).start()
ctypes.CDLL(None).pthread_exit(None)
"""


class Daemons(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.dir = Path(self.useFixture(fixtures.TempDir()).path)
        self.words = [sys.executable, '-c', 'import time; time.sleep(1000)', str(self.dir)]
        self.daemon = daemon.Daemon(self.dir / 'record.json')
        self.addCleanup(self.daemon.stop)

    def start(self, *words):
        self.daemon.start(words or self.words, self.dir / 'log', start_key='m', env={})
        process = self.daemon.process()
        # The command line of a process can be read a little later than the process itself.
        waiting.until(process.cmdline, 'it has words', pause=0.001)
        return process

    def test_process_is_found_and_stopped_through_its_record(self):
        started = self.start()
        other = daemon.Daemon(self.dir / 'record.json')
        self.assertEqual(started, other.process())
        self.assertEqual('m', other.start_key)
        other.stop()
        self.assertIsNone(self.daemon.process())
        self.assertFalse((self.dir / 'record.json').exists())
        other.stop()

    def test_process_that_ended_before_it_was_recorded_does_not_run(self):
        ended = subprocess.Popen(['true'])
        ended.wait()
        self.daemon._remember(ended.pid, 'm')
        self.assertEqual((False, None), (self.daemon.runs, self.daemon.process()))

    def test_process_runs_in_its_own_session(self):
        started = self.start()
        fields = Path(f'/proc/{started.pid}/stat').read_text().rpartition(')')[2].split()
        self.assertEqual(started.pid, int(fields[3]))

    def test_process_is_found_by_command_line_without_its_record(self):
        started = self.start()
        (self.dir / 'record.json').unlink()
        other = daemon.Daemon(self.dir / 'record.json')
        self.assertIsNone(other.process())
        self.assertIsNone(other.find([*self.words, 'more']))
        self.assertEqual(started, other.find(self.words))
        self.assertIsNone(other.start_key)
        other.stop()
        self.assertIsNone(self.daemon.process())

    def test_only_a_process_with_the_same_command_line_is_adopted(self):
        started = self.start()
        (self.dir / 'record.json').unlink()
        other = daemon.Daemon(self.dir / 'record.json')
        for pid, words in (
            (started.pid, [*self.words, 'more']),
            (psutil.Process().pid, self.words),
            (2**22 + 1, self.words),
        ):
            other.adopt(pid, words)
            self.assertIsNone(other.process())
        other.adopt(started.pid, self.words)
        self.assertEqual(started, other.process())

    def test_look_alike_is_no_daemon(self):
        """The words are the same, but not the user, or not the program."""
        if os.geteuid():
            self.skipTest('only root can start a process of another user')
        words = ['sleep', '60']
        other = Path(shutil.copy(shutil.which('sleep'), self.dir))
        for how in ({'user': _STRANGER}, {'executable': other}, {}):
            alike = subprocess.Popen(words, **how)
            self.addCleanup(alike.wait)
            self.addCleanup(alike.kill)
            waiting.until(psutil.Process(alike.pid).cmdline, 'it has words', pause=0.001)
            self.daemon.adopt(alike.pid, words)
            self.assertEqual(not how, self.daemon.process() is not None, how)
        (self.dir / 'record.json').unlink()

    def test_process_has_ended_with_its_last_thread(self):
        """End the first thread alone: as after a kill, the process has no command line any more, and others go on a little."""
        self.words = [sys.executable, '-c', _WITHOUT_ITS_FIRST_THREAD, str(self.dir)]
        self.daemon.start(self.words, self.dir / 'log', start_key='m', env={})
        started = self.daemon.process()
        waiting.until(lambda: started.status() == psutil.STATUS_ZOMBIE, 'its first thread has ended')
        self.assertEqual(started, self.daemon.process())
        self.daemon.stop()
        self.assertIsNone(self.daemon.process())

    def test_stale_foreign_and_broken_records_are_ignored(self):
        started = self.start()
        good = json.loads((self.dir / 'record.json').read_text())
        boot, ticks = good['birth'].split()
        for change in (
            {'pid': psutil.Process().pid},
            {'birth': f'{boot} {int(ticks) + 1}'},
            {'birth': f'other {ticks}'},
        ):
            (self.dir / 'record.json').write_text(json.dumps(good | change))
            self.assertIsNone(self.daemon.process())
        for text in ('', '[1, 2.0]', '{"pid"'):
            (self.dir / 'record.json').write_text(text)
            self.assertIsNone(daemon.Daemon(self.dir / 'record.json').process())
        self.assertTrue(started.is_running())
        (self.dir / 'record.json').write_text(json.dumps(good))
        self.assertEqual(started, self.daemon.process())

    def test_process_that_ignores_sigterm_is_killed(self):
        self.start(
            sys.executable,
            '-c',
            'import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);'
            'print("deaf", flush=True); time.sleep(60)',
        )
        waiting.until(lambda: 'deaf' in (self.dir / 'log').read_text(), 'it does not listen')
        self.daemon.stop(patience=0.2)
        self.assertIsNone(self.daemon.process())

    def test_ended_process_is_reaped(self):
        started = self.start()
        started.kill()

        def reaped():
            self.daemon.process()
            return not psutil.pid_exists(started.pid)

        waiting.until(reaped, 'it is still there')
