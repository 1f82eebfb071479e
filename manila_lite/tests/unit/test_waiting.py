# SPDX-License-Identifier: Apache-2.0
"""The waits of tests: they end in time, and name the missing condition."""

import testtools

from manila_lite.tests import waiting


class Until(testtools.TestCase):

    def test_it_returns_what_came_when_it_came(self):
        answers = iter(('', None, [], 'there', 'more'))
        self.assertEqual('there', waiting.until(lambda: next(answers), 'it', pause=0.001))
        self.assertEqual('more', next(answers))

    def test_what_never_comes_is_named(self):
        late = self.assertRaises(waiting.Late, waiting.until, list, 'the share is gone', 0.01, pause=0.001)
        self.assertEqual('not within 0.01 s: the share is gone', str(late))
        self.assertIsInstance(late, AssertionError)

    def test_what_did_not_come_may_be_said_at_the_end(self):
        seen = []

        def looks():
            seen.append(1)
        late = self.assertRaises(waiting.Late, waiting.until, looks, lambda: f'{len(seen)} looks', 0.01, pause=0.001)
        self.assertEqual(f'not within 0.01 s: {len(seen)} looks', str(late))

    def test_it_looks_once_more_when_time_is_over(self):
        """The condition is tested once more at the end: the machine may have stood still since the first test."""
        answers = iter((False, True))
        self.assertIs(True, waiting.until(lambda: next(answers), 'it', seconds=0))

    def test_errors_are_a_no_if_so_wanted(self):
        answers = iter((0, 1))
        self.assertEqual(1, waiting.until(lambda: 1 / next(answers), 'it', ignoring=(ZeroDivisionError,), pause=0.001))
        self.assertRaises(waiting.Late, waiting.until, lambda: 1 / 0, 'it', 0.01, ignoring=(ZeroDivisionError,), pause=0.001)
        self.assertRaises(ZeroDivisionError, waiting.until, lambda: 1 / 0, 'it')
