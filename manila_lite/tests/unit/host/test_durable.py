# SPDX-License-Identifier: Apache-2.0
"""Files that a loss of power leaves whole: their text is on the disk before their name, and the name before the answer."""

import os
from pathlib import Path

import fixtures
import testtools

from manila_lite.host import durable


class DurableTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.folder = Path(self.useFixture(fixtures.TempDir()).path)
        self.file = self.folder / 'a.json'
        self.synced = []
        self.useFixture(fixtures.MonkeyPatch('os.fsync', self._sync))

    def _sync(self, fd):
        self.synced.append(
            (os.readlink(f'/proc/self/fd/{fd}'), self.file.read_text() if self.file.exists() else None)
        )

    def test_text_is_synced_before_the_name_and_the_name_after_it(self):
        self.file.write_text('old')
        durable.replace(self.file, 'new')
        self.assertEqual([(f'{self.file}.new', 'old'), (str(self.folder), 'new')], self.synced)
        self.assertEqual(['a.json'], os.listdir(self.folder))

    def test_removal_is_synced(self):
        self.file.write_text('old')
        durable.remove(self.file)
        durable.remove(self.file)
        self.assertEqual([(str(self.folder), None)], self.synced)
