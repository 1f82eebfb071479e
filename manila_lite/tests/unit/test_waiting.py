# SPDX-License-Identifier: Apache-2.0
"""The waits of tests: they end in time, and name the missing condition."""

import testtools

from manila_lite.tests import waiting


class Until(testtools.TestCase):

    def test_first_true_value_is_returned(self):
        answers = iter(('', None, [], 'there', 'more'))
        self.assertEqual('there', waiting.until(lambda: next(answers), 'it', pause=0.001))
        self.assertEqual('more', next(answers))

    def test_timeout_error_names_the_missing_condition(self):
        late = self.assertRaises(waiting.Late, waiting.until, list, 'the share is gone', 0.01, pause=0.001)
        self.assertEqual('not within 0.01 s: the share is gone', str(late))
        self.assertIsInstance(late, AssertionError)

    def test_timeout_message_can_be_computed_at_the_end(self):
        seen = []

        def looks():
            seen.append(1)
        late = self.assertRaises(waiting.Late, waiting.until, looks, lambda: f'{len(seen)} looks', 0.01, pause=0.001)
        self.assertEqual(f'not within 0.01 s: {len(seen)} looks', str(late))

    def test_condition_is_tested_again_after_the_time_limit(self):
        """The condition is tested once more at the end: the machine may have stood still since the first test."""
        answers = iter((False, True))
        self.assertIs(True, waiting.until(lambda: next(answers), 'it', seconds=0))

    def test_ignored_errors_count_as_false_and_others_are_raised(self):
        answers = iter((0, 1))
        self.assertEqual(1, waiting.until(lambda: 1 / next(answers), 'it', ignoring=(ZeroDivisionError,), pause=0.001))
        self.assertRaises(waiting.Late, waiting.until, lambda: 1 / 0, 'it', 0.01, ignoring=(ZeroDivisionError,), pause=0.001)
        self.assertRaises(ZeroDivisionError, waiting.until, lambda: 1 / 0, 'it')
