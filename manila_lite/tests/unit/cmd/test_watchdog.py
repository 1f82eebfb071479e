# SPDX-License-Identifier: Apache-2.0
"""A watchdog ends its process when a thread holds the interpreter, and at no other time."""

import subprocess
import sys

import testtools

from manila_lite.cmd import watchdog
from manila_lite.tests import waiting

_BEGIN = f"""
import re, time
from {watchdog.__name__.rpartition('.')[0]} import watchdog
watchdog._BEAT, watchdog.SILENT = 0.05, 2.0
watch = watchdog.Watchdog()
watch.start()
"""


class Watched(testtools.TestCase):
    def run_child(self, code):
        return subprocess.run(
            [sys.executable, '-c', _BEGIN + code],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=waiting.LIMIT,
            check=False,
        )

    def test_process_that_a_thread_holds_ends_and_tells_the_code(self):
        done = self.run_child('def hold():\n    re.match("(a|a)*b", "a" * 99)\nhold()\n')
        self.assertEqual(1, done.returncode)
        self.assertIn('in hold', done.stderr)

    def test_busy_and_waiting_processes_go_on(self):
        code = 'end = time.monotonic() + 3\n{}\nwatch.stop()\n'
        for work in ('time.sleep(3)', 'while time.monotonic() < end: pass'):
            done = self.run_child(code.format(work))
            self.assertEqual((0, ''), (done.returncode, done.stderr), work)
