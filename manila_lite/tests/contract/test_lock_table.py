# SPDX-License-Identifier: Apache-2.0
"""The table of resource locks: every call that changes something has a line, and users can read which calls are refused."""

import collections
import pathlib

import testtools

from manila_lite.tests.security import lock_table

_PAGE = pathlib.Path(__file__).parents[3] / 'doc/source/user/resource-locks.rst'


class Table(testtools.TestCase):
    def test_every_changing_call_has_one_line(self):
        """Every changing call has one line, and every line has a call. Add new calls to tests/security/locks.yaml."""
        calls = {lock_table.label(op) for op in lock_table.CHANGING}
        self.assertEqual(
            [], sorted(calls - set(lock_table.LINES)), 'calls without a line in tests/security/locks.yaml'
        )
        self.assertEqual(
            [],
            sorted(set(lock_table.LINES) - calls),
            'lines in tests/security/locks.yaml that are of no call',
        )
        self.assertEqual(
            [], [line for line, count in collections.Counter(lock_table.LINES).items() if count > 1]
        )

    def test_reasons_have_at_least_two_words(self):
        self.assertEqual([], [reason for reason in lock_table.FREE.values() if len(reason.split()) < 2])

    def test_user_page_names_every_refused_call(self):
        text = _PAGE.read_text()
        self.assertEqual(
            [], [line for line in (*lock_table.FIRST, *lock_table.LIFT) if f'``{line}``' not in text]
        )
