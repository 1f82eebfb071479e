# SPDX-License-Identifier: Apache-2.0
"""The table for users of what copies keep says the same as the tests that make the copies."""

import re
from pathlib import Path

import testtools

from manila_lite.tests.factories import kept

_PAGE = Path(__file__).parents[3] / 'doc/source/user/copies.rst'


class KeptTable(testtools.TestCase):
    def test_page_and_tests_have_the_same_table(self):
        _, heads, rows, _ = re.split(r'^(?:=+ +)+=+\n', _PAGE.read_text(), flags=re.MULTILINE)
        _, *ways = re.split(' {2,}', heads.strip())
        cells = [re.split(' {2,}', line) for line in rows.splitlines()]
        self.assertEqual(kept.SEEN, tuple(what for what, *_ in cells))
        self.assertEqual(
            {
                way: {what for what, *kept in cells if kept[column] == 'lost'}
                for column, way in enumerate(ways)
            },
            kept.DROPS,
        )
        self.assertEqual({'kept', 'lost'}, {cell for _, *kept in cells for cell in kept})
