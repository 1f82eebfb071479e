# SPDX-License-Identifier: Apache-2.0
"""Outcomes of the published tests: which are worse than upstream, and what they are about."""

import io
import tempfile
from pathlib import Path

import testtools

from manila_lite.tests.conformance import outcomes, suite
from manila_lite.tests.conformance.outcomes import FAIL, PASS, SKIP, Outcome

_CLASS = 'manila_tempest_tests.tests.api.test_shares.SharesTest'


class Worse(testtools.TestCase):

    def worse(self, ours, upstream, allowed=()):
        def named(found):
            return {f'{_CLASS}.{name}': Outcome(outcome, f'why {name}') for name, outcome in found.items()}
        return sorted(name.rpartition('.')[2] for name in outcomes.worse(
            named(ours), named(upstream), [f'{_CLASS}.{name}' for name in allowed]))

    def test_test_that_passes_upstream_and_not_here_is_worse(self):
        self.assertEqual(['b', 'c', 'd'], self.worse({'a': PASS, 'b': FAIL, 'c': SKIP},
                                                     {'a': PASS, 'b': PASS, 'c': PASS, 'd': PASS}))

    def test_skips_and_failures_of_upstream_are_no_measure(self):
        self.assertEqual(['a'], self.worse({'a': FAIL, 'b': SKIP, 'c': FAIL, 'd': PASS},
                                           {'a': SKIP, 'b': SKIP, 'c': FAIL, 'd': SKIP}))

    def test_unknown_test_that_fails_is_worse(self):
        self.assertEqual(['new'], self.worse({'new': FAIL, 'other': SKIP}, {}))

    def test_allowed_difference_is_not_worse(self):
        self.assertEqual(['b'], self.worse({'a': FAIL, 'b': FAIL}, {'a': PASS, 'b': PASS}, allowed=['a']))

    def test_reason_of_a_class_that_could_not_begin_is_that_of_its_tests(self):
        found = outcomes.worse({f'setUpClass ({_CLASS})': Outcome(FAIL, 'no network')}, {f'{_CLASS}.a': Outcome(PASS)})
        self.assertEqual({f'{_CLASS}.a': 'no network'}, found)


class Features(testtools.TestCase):

    def test_feature_is_named_by_the_module(self):
        for module, feature in (('test_shares', 'shares'), ('admin.test_share_networks', 'share networks'),
                                ('test_rules_negative', 'rules'), ('test_shares_actions_negative', 'shares')):
            self.assertEqual(feature, outcomes.feature_of(f'manila_tempest_tests.tests.api.{module}.Some.test_it'))


class Files(testtools.TestCase):

    def test_outcomes_of_one_mode_replace_those_of_the_same_mode(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / 'ours.tsv'
            outcomes.write('dhss', {'a': Outcome(PASS), 'b': Outcome(FAIL, 'first\nlast')}, file)
            outcomes.write('nodhss', {'a': Outcome(SKIP, 'no backend'), 'setUpClass (x)': Outcome(FAIL, 'no')}, file)
            outcomes.write('dhss', {'b': Outcome(FAIL, 'first\nlast')}, file)
            self.assertEqual({'b': Outcome(FAIL, 'last')}, outcomes.read(file, 'dhss'))
            self.assertEqual({'a': Outcome(SKIP, 'no backend')}, outcomes.read(file, 'nodhss'))

    def test_report_has_the_outcomes_that_were_written(self):
        file = io.BytesIO()
        suite.report(file, ['a'], {'b': 'no network'})
        self.assertEqual({'a': Outcome(PASS), 'b': Outcome(FAIL, 'no network')}, suite.outcomes(file.getvalue()))

    def test_differences_are_few_and_pass_upstream(self):
        rows = [(mode, name) for mode in ('dhss', 'nodhss') for name in outcomes.read(outcomes.DIFFERENCES, mode)]
        self.assertLess(len(rows), 6)
        for mode, name in rows:
            self.assertEqual(PASS, outcomes.read(outcomes.UPSTREAM, mode)[name].outcome)
