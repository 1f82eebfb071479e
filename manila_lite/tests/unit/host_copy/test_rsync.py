# SPDX-License-Identifier: Apache-2.0
"""The end of a copy."""

import tempfile
from pathlib import Path

import testtools

from manila_lite.host_copy import rsync
from manila_lite.tests import waiting


class Ends(testtools.TestCase):
    def copy(self, source, target):
        copy = rsync.Copy(source, target, '--checksum')
        copy.join(waiting.LIMIT)
        self.assertFalse(copy.is_alive())
        return copy

    def test_target_has_exactly_the_files_of_the_source(self):
        with tempfile.TemporaryDirectory() as folder:
            source, target = Path(folder, 'source'), Path(folder, 'target')
            for place, name in ((source, 'a'), (target, 'b')):
                place.mkdir()
                (place / name).write_text(name)
            self.assertIsNone(self.copy(source, target).error)
            self.assertEqual(['a'], [place.name for place in target.iterdir()])

    def test_a_failure_has_the_reason_of_rsync(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertIn('rsync', str(self.copy(Path(folder, 'nothing'), Path(folder, 'target')).error))

    def test_stopped_copy_has_ended(self):
        with tempfile.TemporaryDirectory() as folder:
            copy = rsync.Copy(Path(folder), Path(folder, 'target'), '--checksum')
            copy.stop()
            self.assertFalse(copy.is_alive())
