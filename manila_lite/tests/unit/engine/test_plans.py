# SPDX-License-Identifier: Apache-2.0
"""Names of steps, and the step at which an operation goes on."""

import types

import testtools

from manila_lite.engine import Plan, Step


def copy(work):
    """Do nothing."""


def _wait(work):
    """Do nothing."""


def plan(*steps):
    """Return a plan with these steps, named or made of functions."""
    return Plan('share.move', tuple(Step(copy, name=step) if isinstance(step, str) else Step(step) for step in steps),
                lambda conn, work: None, lambda conn, work, error: None)


class Names(testtools.TestCase):

    def test_a_step_is_named_like_its_function(self):
        self.assertEqual(('copy', 'wait'), plan(copy, _wait).names)

    def test_a_step_may_have_another_name(self):
        self.assertEqual(('start', 'copy'), plan('start', copy).names)

    def test_a_name_is_used_once(self):
        self.assertRaisesRegex(ValueError, 'share.move', plan, 'start', copy, copy)

    def test_a_name_is_a_word(self):
        for bad in ('two words', 'Upper', '<lambda>', '1st', 'a-b'):
            self.assertRaises(ValueError, plan, bad)
        self.assertRaises(ValueError, plan, lambda work: None)

    def test_all_names_fit_into_a_row(self):
        self.assertEqual(2, len(plan('a' * 127, 'b' * 127).names))
        self.assertRaises(ValueError, plan, 'a' * 127, 'b' * 128)


class Position(testtools.TestCase):

    def position(self, step, steps, *now):
        return plan(*(now or ('start', 'copy', 'cut_over'))).position(types.SimpleNamespace(step=step, steps=steps))

    def test_what_has_not_begun_begins_at_the_first_step(self):
        self.assertEqual(0, self.position(0, None))

    def test_the_name_counts(self):
        self.assertEqual(1, self.position(1, 'start copy cut_over'))
        self.assertEqual(2, self.position(1, 'start copy', 'start', 'check', 'copy'))
        self.assertEqual(0, self.position(1, 'start copy', 'copy'))

    def test_without_a_name_the_number_counts(self):
        self.assertEqual(2, self.position(2, None))
        self.assertEqual(2, self.position(2, 'place'))      # passed on, and then moved, by the release before
        self.assertIsNone(self.position(3, None))

    def test_a_step_that_no_longer_exists(self):
        self.assertIsNone(self.position(1, 'start freeze copy'))

    def test_a_first_step_that_no_longer_exists(self):
        self.assertEqual(0, self.position(0, 'reserve copy'))

    def test_what_a_row_says_of_a_step_is_read_again(self):
        moving = plan('start', 'copy', 'cut_over')
        for number in range(3):
            self.assertEqual(number, moving.position(types.SimpleNamespace(**moving.at(number))))
