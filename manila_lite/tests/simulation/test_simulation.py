# SPDX-License-Identifier: Apache-2.0
"""Histories of the engine. ``$SIMULATION_HISTORIES`` of them, from ``$SIMULATION_SEED`` on, by default always the same.

A failure says its seed and how to see that history again.
"""

import os

import testtools

from manila_lite.tests.simulation.history import History
from manila_lite.tests.simulation.place import Place

_COUNT = int(os.environ.get('SIMULATION_HISTORIES', '200'))
_FIRST = int(os.environ.get('SIMULATION_SEED', '1'))
_PARTS = 4


class _Histories(testtools.TestCase):
    part = 0

    def _seeds(self):
        return range(_FIRST + self.part, _FIRST + _COUNT, _PARTS)

    def check(self):
        place = self.useFixture(Place())
        for seed in self._seeds():
            why = History(seed, place).run()
            self.assertIsNone(why, f'{why}\nTo see it again: tools/simulate --seed {seed} --histories 1')


class FirstQuarter(_Histories):
    def test_all_operations_end_as_they_may(self):
        self.check()


class SecondQuarter(_Histories):
    part = 1

    def test_all_operations_end_as_they_may(self):
        self.check()


class ThirdQuarter(_Histories):
    part = 2

    def test_all_operations_end_as_they_may(self):
        self.check()


class LastQuarter(_Histories):
    part = 3

    def test_all_operations_end_as_they_may(self):
        self.check()


class SameSeedTest(testtools.TestCase):
    def test_a_seed_has_one_history(self):
        place = self.useFixture(Place())
        for seed in range(_FIRST, _FIRST + 5):
            first, second = History(seed, place), History(seed, place)
            first.run()
            second.run()
            self.assertEqual(first.trace, second.trace)

    def test_seeds_have_different_histories(self):
        place = self.useFixture(Place())
        first, second = History(_FIRST, place), History(_FIRST + 1, place)
        first.run()
        second.run()
        self.assertNotEqual(first.trace, second.trace)
