# SPDX-License-Identifier: Apache-2.0
"""Files of exports on a shared pool are on the disk once a change is answered."""

import os
from pathlib import Path

import fixtures
import testtools

from manila_lite.drivers.linux.failover.durable_files import DurableFiles


class DurableFilesTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        home = Path(self.useFixture(fixtures.TempDir()).path)
        self.folder = home / 'exports.d'
        self.folder.mkdir()
        self.synced = []
        self.useFixture(
            fixtures.MonkeyPatch(
                'os.fsync', lambda fd: self.synced.append(os.readlink(f'/proc/self/fd/{fd}'))
            )
        )
        self.files = DurableFiles(home)

    def test_new_file_and_its_folder_are_synced(self):
        (self.folder / 'a.conf').write_text('x')
        self.files.push('a', 'x')
        self.assertEqual({str(self.folder), str(self.folder / 'a.conf')}, set(self.synced))

    def test_folder_is_synced_when_a_file_is_gone(self):
        self.files.push('a', None)
        self.assertEqual([str(self.folder)], self.synced)

    def test_file_that_is_not_served_any_more_is_no_error(self):
        self.files.push('a', 'x')
        self.assertEqual([str(self.folder)], self.synced)
