# SPDX-License-Identifier: Apache-2.0
"""Processes that do nothing are told from those that work."""

import contextlib
import subprocess
import types

import fixtures
import testtools

from manila_lite.host_copy.activity import Activity
from manila_lite.tests import waiting


class Stillness(testtools.TestCase):
    @contextlib.contextmanager
    def running(self, *words):
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
            try:
                yield Activity(process.pid, 0.4)
            finally:
                process.kill()

    def test_waiting_process_is_still(self):
        for words in (('cat',), ('sh', '-c', 'cat; true')):
            with self.running(*words) as pulse:
                waiting.until(pulse.is_still, 'it is still')

    def test_working_process_is_not_still(self):
        """Let time pass only after the process got some work done: others may have the processors for long."""
        now = 1000.0
        clock = types.SimpleNamespace(monotonic=lambda: now)
        self.useFixture(fixtures.MonkeyPatch('manila_lite.host_copy.activity.time', clock))
        for words in (('dd', 'if=/dev/zero', 'of=/dev/null', 'bs=64k'), ('sh', '-c', 'while :; do :; done')):
            with self.running(*words) as pulse:
                for _ in range(4):
                    before = pulse._counters()
                    waiting.until(lambda pulse=pulse, before=before: pulse._counters() != before, 'it works')
                    now += 0.4
                    self.assertFalse(pulse.is_still())
