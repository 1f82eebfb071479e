# SPDX-License-Identifier: Apache-2.0
"""Comparison of the outcomes of the published tests with those of upstream."""

import io

import testtools

from manila_lite.tests.conformance import outcomes, suite
from manila_lite.tests.conformance.outcomes import FAIL, PASS, SKIP, Outcome

_CLASS = 'manila_tempest_tests.tests.api.test_shares.SharesTest'


class Worse(testtools.TestCase):
    def worse(self, ours, upstream, allowed=()):
        def named(found):
            return {f'{_CLASS}.{name}': Outcome(outcome, f'why {name}') for name, outcome in found.items()}

        return sorted(
            name.rpartition('.')[2]
            for name in outcomes.worse(named(ours), named(upstream), [f'{_CLASS}.{name}' for name in allowed])
        )

    def test_test_that_passes_upstream_and_not_here_is_worse(self):
        self.assertEqual(
            ['b', 'c', 'd'],
            self.worse({'a': PASS, 'b': FAIL, 'c': SKIP}, {'a': PASS, 'b': PASS, 'c': PASS, 'd': PASS}),
        )

    def test_skips_and_failures_of_upstream_are_no_measure(self):
        self.assertEqual(
            ['a'],
            self.worse(
                {'a': FAIL, 'b': SKIP, 'c': FAIL, 'd': PASS}, {'a': SKIP, 'b': SKIP, 'c': FAIL, 'd': SKIP}
            ),
        )

    def test_unknown_test_that_fails_is_worse(self):
        self.assertEqual(['new'], self.worse({'new': FAIL, 'other': SKIP}, {}))

    def test_allowed_difference_is_not_worse(self):
        self.assertEqual(['b'], self.worse({'a': FAIL, 'b': FAIL}, {'a': PASS, 'b': PASS}, allowed=['a']))

    def test_reason_of_a_class_that_could_not_begin_is_that_of_its_tests(self):
        found = outcomes.worse(
            {f'setUpClass ({_CLASS})': Outcome(FAIL, 'no network')}, {f'{_CLASS}.a': Outcome(PASS)}
        )
        self.assertEqual({f'{_CLASS}.a': 'no network'}, found)


class Perfect(testtools.TestCase):
    def test_without_a_run_of_upstream_only_recorded_skips_need_not_pass(self):
        ours = {
            'a': Outcome(PASS),
            'b': Outcome(SKIP, 'CIFS'),
            'c': Outcome(FAIL, 'why'),
            'd': Outcome(SKIP, 'new'),
            f'setUpClass ({_CLASS})': Outcome(FAIL, 'no'),
        }
        self.assertEqual(
            {'c': 'why', 'd': 'new', f'setUpClass ({_CLASS})': 'no'},
            outcomes.worse(ours, outcomes.perfect(ours, ['b', 'c'])),
        )


class Chosen(testtools.TestCase):
    def test_tests_of_a_class_that_could_not_begin_are_missed(self):
        """Expect what was asked for, and not what ran."""
        upstream = {f'{_CLASS}.a': Outcome(PASS), 'other.b': Outcome(PASS)}
        expected = outcomes.chosen(upstream, ['SharesTest', 'nothing'])
        self.assertEqual(
            {f'{_CLASS}.a': 'no network'},
            outcomes.worse({f'setUpClass ({_CLASS})': Outcome(FAIL, 'no network')}, expected),
        )
        self.assertEqual(upstream, outcomes.chosen(upstream, []))


class Files(testtools.TestCase):
    def test_report_has_the_outcomes_that_were_written(self):
        file = io.BytesIO()
        suite.report(file, ['a'], {'b': 'no network'})
        self.assertEqual(
            {'a': Outcome(PASS), 'b': Outcome(FAIL, 'no network')}, suite.outcomes(file.getvalue())
        )

    def test_differences_are_few_and_pass_upstream(self):
        different = [outcomes.read(outcomes.DIFFERENCES, mode) for mode in ('dhss', 'nodhss')]
        self.assertLess(len({name for rows in different for name in rows}), 6)
        for mode, rows in zip(('dhss', 'nodhss'), different, strict=True):
            for name, row in rows.items():
                self.assertEqual(PASS, outcomes.read(outcomes.UPSTREAM, mode)[name].outcome)
                self.assertTrue(row.reason)

    def test_each_recorded_skip_has_a_reason(self):
        for mode in ('scenario', 'scenario-dhss'):
            found = outcomes.read(outcomes.SKIPS, mode)
            self.assertNotEqual({}, found)
            self.assertEqual([], [name for name, one in found.items() if not one.reason])
