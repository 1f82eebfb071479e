# SPDX-License-Identifier: Apache-2.0
"""Which operations get a thread."""

import types

import testtools

from manila_lite.engine import thread_slots
from manila_lite.engine.environment import Environment


class Clock(Environment):
    """An environment whose clock is set by the test."""

    now = 0.0

    def monotonic(self):
        return self.now


def entry(number, project='p', lane='work', *, running=0, more=True, mutex_key=None, interrupted=False):
    return types.SimpleNamespace(
        id=f'{project}{number}',
        fair_share_key=project,
        lane=lane,
        running=running,
        more=more,
        mutex_key=mutex_key,
        interrupted=interrupted,
    )


class ThreadSlotsTest(testtools.TestCase):
    """Six threads for work, two of them kept for projects with nothing running; two fast ones."""

    def setUp(self):
        super().setUp()
        self.clock = Clock()
        self.slots = thread_slots.ThreadSlots({'work': 6, 'fast': 2}, 33, self.clock)

    def book(self, *entries):
        return [self.slots.book(one, one.running) for one in entries]

    def test_some_threads_are_kept_for_projects_with_nothing_running(self):
        self.assertEqual([True] * 4 + [False], self.book(*(entry(n, running=n) for n in range(5))))
        self.assertEqual([True, True, False], self.book(*(entry(n, f'q{n}') for n in range(3))))
        self.assertEqual(6, len(self.slots))
        self.slots.drop('p0')
        self.assertEqual(
            (5, True, False), (len(self.slots), self.slots.has('work', 0), self.slots.has('work', 1))
        )

    def test_lanes_have_threads_of_their_own(self):
        self.book(*(entry(n, f'q{n}') for n in range(6)))
        self.assertEqual(
            (True, False, False),
            (
                self.slots.are_busy(['work']),
                self.slots.are_busy(['fast', 'work']),
                self.slots.are_busy(['unknown']),
            ),
        )
        self.assertEqual([True], self.book(entry(1, lane='fast')))

    def test_no_two_operations_of_a_serial_in_a_lane_run_together(self):
        one, two, other = (
            entry(1, mutex_key='s'),
            entry(2, mutex_key='s'),
            entry(3, lane='fast', mutex_key='s'),
        )
        self.assertEqual([True, False, True], self.book(one, two, other))
        self.assertEqual({'s'}, self.slots.mutex_keys())
        self.slots.drop(one.id)
        self.assertEqual([True], self.book(two))

    def test_one_interrupted_operation_begins_at_a_time(self):
        first, second, fresh = (entry(n, f'q{n}', interrupted=n < 2) for n in range(3))
        self.assertTrue(self.slots.may_begin_interrupted())
        self.assertEqual([True, False, True], self.book(first, second, fresh))
        self.assertFalse(self.slots.may_begin_interrupted())
        self.clock.now = 9.9
        self.assertEqual([False], self.book(second))
        self.clock.now = 10.0  # by now the first has shown that it does not end the process
        self.assertEqual([True], self.book(second))

    def test_free_threads_are_shared_out_by_turns(self):
        booked = [entry(0, 'a'), entry(0, 'b', running=1)]
        self.book(*booked)
        self.assertEqual({('work', 'a'): [1, 2]}, self.slots.share_out(booked, (), 16))
        self.slots = thread_slots.ThreadSlots({'work': 9}, 0, self.clock)
        self.book(*booked)
        self.assertEqual(
            {('work', 'a'): [1, 2, 3, 4], ('work', 'b'): [2, 3, 4]}, self.slots.share_out(booked, (), 16)
        )
        self.assertEqual({('work', 'a'): [1, 2, 3, 4, 5, 6, 7]}, self.slots.share_out(booked, (), 1))

    def test_none_goes_before_what_is_left(self):
        booked = [entry(0, 'a'), entry(0, 'b', more=False)]
        self.book(*booked)
        self.assertEqual({('work', 'a'): [1]}, self.slots.share_out(booked, [('work', 1)], 16))
        self.assertEqual({}, self.slots.share_out(booked, [('work', 0)], 16))
        self.assertEqual(2, len(self.slots.share_out(booked, [('fast', 0)], 16)['work', 'a']))

    def test_kept_threads_are_never_all(self):
        self.assertEqual(
            [0, 1, 4, 0], [thread_slots.kept(*case) for case in ((4, 0), (4, 33), (12, 33), (1, 90))]
        )
