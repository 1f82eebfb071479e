# SPDX-License-Identifier: Apache-2.0
"""Processes that do nothing are told from those that work."""

import subprocess
import time

import testtools

from manila_lite.host_copy.activity import Activity


class Stillness(testtools.TestCase):
    def ends_still(self, *words):
        """Say whether the process was still for 0.4 s, within 1.5 s."""
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
            pulse, end = Activity(process.pid, 0.4), time.monotonic() + 1.5
            try:
                while time.monotonic() < end:
                    if pulse.is_still():
                        return True
                    time.sleep(0.02)  # sleeps: between two looks, for the longer while
                return False
            finally:
                process.kill()

    def test_waiting_process_is_still(self):
        self.assertTrue(self.ends_still('cat'))
        self.assertTrue(self.ends_still('sh', '-c', 'cat; true'))

    def test_working_process_is_not_still(self):
        self.assertFalse(self.ends_still('dd', 'if=/dev/zero', 'of=/dev/null', 'bs=64k'))
        self.assertFalse(self.ends_still('sh', '-c', 'while :; do :; done'))
