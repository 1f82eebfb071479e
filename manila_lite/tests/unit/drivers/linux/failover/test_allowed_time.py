# SPDX-License-Identifier: Apache-2.0
"""The files by which share manager and guard tell each other how long this host may serve."""

import json
import os
import time
from pathlib import Path

import fixtures
import testtools

from manila_lite.drivers.linux.failover.task import FailoverTask


def _now():
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class TaskTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.state = Path(self.useFixture(fixtures.TempDir()).path)
        self.task = FailoverTask('/dev/pool', str(self.state), 'fabric', 'token')
        self.files = self.task.files

    def test_nothing_is_allowed_at_first(self):
        self.assertFalse(self.files.may_serve())

    def test_host_may_serve_until_the_time_that_it_was_told(self):
        self.files.allow_until(_now() + 600)
        self.assertTrue(self.files.may_serve())
        self.files.allow_until(_now() - 0.01)
        self.assertFalse(self.files.may_serve())

    def test_time_of_an_earlier_boot_allows_nothing(self):
        self.files.allow_until(_now() + 60)
        file = self.files.folder / 'until'
        file.write_text(json.dumps(['another boot', json.loads(file.read_text())[1]]))
        self.assertFalse(self.files.may_serve())

    def test_torn_time_allows_nothing(self):
        self.files.allow_until(_now() + 60)
        file = self.files.folder / 'until'
        file.write_text(file.read_text()[:-5])
        self.assertFalse(self.files.may_serve())

    def test_guard_reads_the_task_that_was_written(self):
        self.files.token()  # makes the folder
        self.assertEqual(self.task, FailoverTask.read(self.task.write()))

    def test_name_of_a_host_is_on_its_disk(self):
        """Without that, a loss of power would give the host another name, and make its own mark that of a stranger."""
        synced = []
        self.useFixture(
            fixtures.MonkeyPatch('os.fsync', lambda fd: synced.append(os.readlink(f'/proc/self/fd/{fd}')))
        )
        self.files.token()
        self.assertEqual([f'{self.files.folder}/host.id.new', str(self.files.folder)], synced)

    def test_name_of_a_host_stays(self):
        self.assertEqual(
            self.files.token(), FailoverTask('/dev/other', str(self.state), 'f', '').files.token()
        )
