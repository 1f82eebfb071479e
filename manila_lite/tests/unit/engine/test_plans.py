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
    return Plan(
        'share.move',
        tuple(Step(copy, name=step) if isinstance(step, str) else Step(step) for step in steps),
        lambda conn, work: None,
        lambda conn, work, error: None,
    )


class Names(testtools.TestCase):
    def test_a_step_is_named_like_its_function(self):
        self.assertEqual(('copy', 'wait'), plan(copy, _wait).names)

    def test_step_name_can_differ_from_its_function(self):
        self.assertEqual(('start', 'copy'), plan('start', copy).names)

    def test_repeated_step_name_is_refused(self):
        self.assertRaisesRegex(ValueError, 'share.move', plan, 'start', copy, copy)

    def test_step_name_must_be_a_single_lower_case_word(self):
        for bad in ('two words', 'Upper', '<lambda>', '1st', 'a-b'):
            self.assertRaises(ValueError, plan, bad)
        self.assertRaises(ValueError, plan, lambda work: None)

    def test_names_longer_than_the_column_are_refused(self):
        self.assertEqual(2, len(plan('a' * 127, 'b' * 127).names))
        self.assertRaises(ValueError, plan, 'a' * 127, 'b' * 128)

    def test_only_a_single_step_may_take_many_operations(self):
        many, other = Step(copy, many=lambda works: None), Step(copy, name='other')
        self.assertEqual(1, len(Plan('share.move', (many,), None, None).steps))
        self.assertRaisesRegex(ValueError, 'share.move has 2', Plan, 'share.move', (many, other), None, None)


class Position(testtools.TestCase):
    def position(self, step, steps, *now):
        return plan(*(now or ('start', 'copy', 'cut_over'))).position(
            types.SimpleNamespace(step=step, steps=steps)
        )

    def test_new_operation_starts_at_the_first_step(self):
        self.assertEqual(0, self.position(0, None))

    def test_position_is_found_by_step_name_not_by_number(self):
        self.assertEqual(1, self.position(1, 'start copy cut_over'))
        self.assertEqual(2, self.position(1, 'start copy', 'start', 'check', 'copy'))
        self.assertEqual(0, self.position(1, 'start copy', 'copy'))

    def test_number_is_used_when_the_step_name_is_missing(self):
        self.assertEqual(2, self.position(2, None))
        self.assertEqual(2, self.position(2, 'place'))  # passed on, and then moved, by the release before
        self.assertIsNone(self.position(3, None))

    def test_removed_step_has_no_position(self):
        self.assertIsNone(self.position(1, 'start freeze copy'))

    def test_removed_first_step_restarts_at_the_first_step(self):
        self.assertEqual(0, self.position(0, 'reserve copy'))

    def test_position_written_to_a_row_is_read_back(self):
        moving = plan('start', 'copy', 'cut_over')
        for number in range(3):
            self.assertEqual(number, moving.position(types.SimpleNamespace(**moving.at(number))))
