# SPDX-License-Identifier: Apache-2.0
"""A library has another version if any of its sources is another."""

from pathlib import Path

import fixtures
import testtools

from manila_lite.drivers.file_servers import compiled


class Version(testtools.TestCase):
    def test_every_source_and_option_counts(self):
        folder = Path(self.useFixture(fixtures.TempDir()).path)
        names, seen = ('one.c', 'two.c', 'three.c', 'four.c'), set()
        for name, text in zip(names, ('a', 'b', 'a', 'c'), strict=True):
            (folder / name).write_text(text)
        one, two, three, four = (folder / name for name in names)
        self.assertEqual(compiled.version(one, two, '-g'), compiled.version(three, two, '-g'))
        for words in ((one,), (one, two), (one, four), (one, two, '-g'), (four, two)):
            seen.add(compiled.version(*words))
        self.assertEqual(5, len(seen))
