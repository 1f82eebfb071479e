# SPDX-License-Identifier: Apache-2.0
"""The waits of tests: they end in time, and name the missing condition."""

import types

import fixtures
import testtools

from manila_lite.tests import waiting


class Until(testtools.TestCase):
    def limit(self, seconds):
        self.useFixture(fixtures.MonkeyPatch('manila_lite.tests.waiting.LIMIT', seconds))

    def test_first_true_value_is_returned(self):
        answers = iter(('', None, [], 'there', 'more'))
        self.assertEqual('there', waiting.until(lambda: next(answers), 'it', pause=0.001))
        self.assertEqual('more', next(answers))

    def test_timeout_error_names_the_missing_condition(self):
        self.limit(0.01)
        late = self.assertRaises(waiting.Late, waiting.until, list, 'the share is gone', pause=0.001)
        self.assertEqual('not within 0.01 s: the share is gone', str(late))
        self.assertIsInstance(late, AssertionError)

    def test_timeout_message_can_be_computed_at_the_end(self):
        seen = []

        def looks():
            seen.append(1)

        self.limit(0.01)
        late = self.assertRaises(
            waiting.Late, waiting.until, looks, lambda: f'{len(seen)} looks', pause=0.001
        )
        self.assertEqual(f'not within 0.01 s: {len(seen)} looks', str(late))

    def test_condition_is_tested_again_after_the_time_limit(self):
        """The condition is tested once more at the end: the machine may have stood still since the first test."""
        self.limit(0)
        answers = iter((False, True))
        self.assertIs(True, waiting.until(lambda: next(answers), 'it'))

    def test_ignored_errors_count_as_false_and_others_are_raised(self):
        answers = iter((0, 1))
        self.assertEqual(
            1, waiting.until(lambda: 1 / next(answers), 'it', ignoring=(ZeroDivisionError,), pause=0.001)
        )
        self.limit(0.01)
        self.assertRaises(
            waiting.Late, waiting.until, lambda: 1 / 0, 'it', ignoring=(ZeroDivisionError,), pause=0.001
        )
        self.assertRaises(ZeroDivisionError, waiting.until, lambda: 1 / 0, 'it')


class UntilDeleted(testtools.TestCase):
    def test_it_ends_when_the_resource_is_gone_or_has_no_status(self):
        going = iter(((200, {'share': {'status': 'deleting'}}), (404, {'itemNotFound': {}})))
        waiting.until_deleted(lambda: next(going), '/shares/a')
        self.assertEqual([], list(going))
        waiting.until_deleted(lambda: (200, {'metadata': {'a': 'b'}}, {}), '/shares/a/metadata/a')

    def test_failed_deletion_is_reported_at_once(self):
        failed = self.assertRaises(
            waiting.Late,
            waiting.until_deleted,
            lambda: (200, {'share': {'status': 'error_deleting'}}),
            '/shares/a',
        )
        self.assertEqual('/shares/a is error_deleting, not deleted', str(failed))


class Pauses(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.now, self.pauses = 0, []
        clock = types.SimpleNamespace(monotonic=lambda: self.now, sleep=self.pause)
        self.useFixture(
            fixtures.MonkeyPatch('manila_lite.tests.waiting.time', clock)
        )  # other threads have theirs

    def pause(self, seconds):
        self.pauses.append(seconds)
        self.now += seconds

    def test_pauses_grow_to_a_quarter_of_a_second(self):
        waiting.until(lambda: self.now > 60, 'a minute')
        self.assertEqual([waiting.PAUSE, waiting.LONGEST], [self.pauses[0], self.pauses[-1]])
        self.assertEqual(sorted(self.pauses), self.pauses)

    def test_shorter_and_longer_ones_stay_as_they_are(self):
        for pause in (0.001, 2):
            self.pauses.clear()
            waiting.until(lambda: len(self.pauses) == 100, '100 looks', pause=pause)
            self.assertEqual({pause}, set(self.pauses))
