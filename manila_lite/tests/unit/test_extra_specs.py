# SPDX-License-Identifier: Apache-2.0

import fixtures
import hypothesis
import testscenarios
import testtools
from hypothesis import strategies
from oslo_utils import specs_matcher

from manila_lite import extra_specs

# The share type's spec, capabilities that meet it, capabilities that do not.
OPERATORS = [
    ('<is> True', [True, 'True', 'true', [False, True]], [False, 'yes', 1, '1', 'Trueish', []]),
    ('<is> false', [False, 'False'], [True, 0, '', 'no']),
    ('True', [True, 'true', ['x', True]], [False, 1, 'yes', 'on']),
    ('true', [True, 'True'], [False]),
    ('False', [False, 'false'], [True, 0]),
    ('1', [1, 1.0, '1'], [True, 2, '1.0', '11']),
    ('gold', ['gold', ['silver', 'gold']], ['Gold', 'golden', ['golden'], 5]),
    ('<in> btr', ['btrfs', ['xfs', 'btrfs']], ['xfs', [], 'BTRFS']),
    ('<or> a <or> b c', ['a', 'b c', ['x', 'a']], ['ab', 'c', ['x']]),
    ('<or> 1 <or> True', [1, True], [2, False]),
    ('<all-in> aes mmx', ['mmx aes', ['aes', 'sse', 'mmx']], ['aes', ['aes', 'mmxext'], ['aesmmx'], []]),
    ('<all-in> a', [['a']], [['ab']]),
    ('s== 2.1', ['2.1', 2.1, ['1', '2.1']], ['2.10', '2']),
    ('s!= a', ['b', ['a', 'b']], ['a', ['a']]),
    ('s< b', ['a'], ['b', 'c']),
    ('s<= b', ['a', 'b'], ['c']),
    ('s> b', ['c'], ['b', 'a']),
    ('s>= b', ['b', 'c'], ['a']),
    ('= 10', [10, '11', 'infinite'], [9.9, 'ten', 'unknown', True]),
    ('== 10', [10, '10.0'], [11, 'x']),
    ('!= 10', [11, '9'], ['10', 10.0, 'x']),
    ('<= 10', [10, '9'], [11, 'infinite']),
    ('>= 10', [10, 'infinite', [1, 12]], [9, [1, 2], None]),
    ('< 10', [9.5], [10]),
    ('> 10', [10.5], [10, True]),
    ('>=10', ['10'], ['9']),
]


class TestOperators(testscenarios.WithScenarios, testtools.TestCase):
    scenarios = [(text, {'text': text, 'good': good, 'bad': bad}) for text, good, bad in OPERATORS]

    def test_good_values_match(self):
        self.assertEqual([], [value for value in self.good if not extra_specs.matches(value, self.text)])

    def test_bad_values_do_not_match(self):
        self.assertEqual([], [value for value in self.bad if extra_specs.matches(value, self.text)])

    def test_spec_is_parsed_without_an_error(self):
        self.assertIsNone(extra_specs.requirement(self.text).wrong)


class TestUnreadable(testscenarios.WithScenarios, testtools.TestCase):
    scenarios = [
        (text, {'text': text, 'why': why})
        for text, why in [
            ('>= much', 'much is not a number'),
            ('<is> perhaps', 'perhaps is neither True nor False'),
            ('<is>', '<is> has no value'),
            ('== ', '== has no value'),
            ('<range-in> [ 1 2 ]', 'there is no operator <range-in>'),
        ]
    ]

    def test_no_value_matches_and_the_reason_is_returned(self):
        for value in (True, 5, 'much', 'perhaps', [1, 2], ''):
            self.assertFalse(extra_specs.matches(value, self.text))
        self.assertEqual(
            f'the share type asks key={self.text!r}, which cannot be read: {self.why}',
            extra_specs.unmet('key', self.text, {'key': True}),
        )


class TestUnmet(testtools.TestCase):
    def test_one_of_several_values_is_enough(self):
        self.assertIsNone(extra_specs.unmet('dedupe', '<is> True', {'dedupe': [False, True]}))

    def test_reason_has_the_spec_and_both_values(self):
        self.assertEqual(
            "the share type asks dedupe='<is> True', the pool reports False",
            extra_specs.unmet('dedupe', '<is> True', {'dedupe': False}),
        )

    def test_reason_says_that_the_capability_is_not_reported(self):
        for reported in ({}, {'dedupe': None}):
            self.assertEqual(
                "the share type asks dedupe='!= 1', the pool reports no dedupe",
                extra_specs.unmet('dedupe', '!= 1', reported),
            )


class TestScopes(testtools.TestCase):
    def test_capabilities_scope_is_removed_and_other_scopes_are_ignored(self):
        self.assertEqual(
            {'a': '1', 'b': '2'},
            extra_specs.capability_specs(
                {
                    'a': '1',
                    'capabilities:b': '2',
                    'netapp:c': '3',
                    'provisioning:max_share_size': '4',
                    'capabilities:x:y': '5',
                }
            ),
        )


FIGURES = strategies.integers(-1000, 1000) | strategies.floats(-1e6, 1e6).map(lambda value: round(value, 3))
WORDS = strategies.text('abcxyz019', min_size=1, max_size=4)


class TestLikeOslo(testtools.TestCase):
    """Same results as those of oslo.utils, where it has one."""

    def setUp(self):
        super().setUp()
        # oslo.utils still uses pyparsing's old names.
        self.useFixture(fixtures.WarningsFilter([{'action': 'ignore', 'category': DeprecationWarning}]))

    @hypothesis.given(strategies.sampled_from(['=', '==', '!=', '<=', '>=', '<', '>']), FIGURES, FIGURES)
    @hypothesis.settings(database=None, deadline=None, max_examples=200)
    def test_numbers_are_compared_as_in_oslo(self, sign, held, asked):
        text = f'{sign} {asked}'
        self.assertEqual(specs_matcher.match(str(held), text), extra_specs.matches(held, text))

    @hypothesis.given(
        strategies.sampled_from(['s==', 's!=', 's<=', 's<', 's>=', 's>', '<in>', '<or>']), WORDS, WORDS
    )
    @hypothesis.settings(database=None, deadline=None, max_examples=200)
    def test_texts_are_compared_as_in_oslo(self, sign, held, asked):
        text = f'{sign} {asked}'
        self.assertEqual(specs_matcher.match(held, text), extra_specs.matches(held, text))

    @hypothesis.given(strategies.lists(WORDS, max_size=4), strategies.lists(WORDS, min_size=1, max_size=3))
    @hypothesis.settings(database=None, deadline=None, max_examples=200)
    def test_all_in_matches_as_in_oslo(self, held, asked):
        text = '<all-in> ' + ' '.join(asked)
        self.assertEqual(specs_matcher.match(str(held), text), extra_specs.matches(held, text))


class IsTrue(testtools.TestCase):
    def test_all_spellings_of_true_and_false_are_recognised(self):
        for text in ('True', 'true', '<is> True', '<IS>true', ' yes ', '1', '<is> on'):
            self.assertTrue(extra_specs.is_true(text, strict=True), text)
        for text in ('False', '<is> false', 'no', '0'):
            self.assertFalse(extra_specs.is_true(text, strict=True), text)

    def test_other_texts_are_false_or_refused_if_strict(self):
        for text in ('', 'host', '<is> maybe'):
            self.assertFalse(extra_specs.is_true(text))
            self.assertRaises(ValueError, extra_specs.is_true, text, strict=True)
