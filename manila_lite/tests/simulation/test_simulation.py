# SPDX-License-Identifier: Apache-2.0
"""Histories of the engine. ``$SIMULATION_HISTORIES`` of them, from ``$SIMULATION_SEED`` on, by default always the same.

A failure says its seed and how to see that history again. ``shares/test_shares.py`` has those of shares.
"""

import os

import testtools

from manila_lite.tests.simulation.history import History

FIRST = int(os.environ.get('SIMULATION_SEED', '1'))
_PARTS = 4


class Histories(testtools.TestCase):
    """A part of the histories of one kind."""

    kind = History
    count = int(os.environ.get('SIMULATION_HISTORIES', '200'))
    part = 0

    def check(self):
        """Each goes well. Returns them."""
        place = self.useFixture(self.kind.place_of())
        found = []
        for seed in range(FIRST + self.part, FIRST + self.count, _PARTS):
            history = self.kind(seed, place)
            why = history.run()
            self.assertIsNone(why, f'{history.kind}, seed {seed}: {why}\nTo see it again: {history.again}')
            found.append(history)
        return found


class FirstQuarter(Histories):
    def test_all_operations_end_as_they_may(self):
        self.check()


class SecondQuarter(Histories):
    part = 1

    def test_all_operations_end_as_they_may(self):
        self.check()


class ThirdQuarter(Histories):
    part = 2

    def test_all_operations_end_as_they_may(self):
        self.check()


class LastQuarter(Histories):
    part = 3

    def test_all_operations_end_as_they_may(self):
        self.check()


class SameSeedTest(testtools.TestCase):
    kind = History

    def test_a_seed_has_one_history(self):
        place = self.useFixture(self.kind.place_of())
        for seed in range(FIRST, FIRST + 5):
            first, second = self.kind(seed, place), self.kind(seed, place)
            first.run()
            second.run()
            self.assertEqual(first.trace, second.trace)

    def test_seeds_have_different_histories(self):
        place = self.useFixture(self.kind.place_of())
        first, second = self.kind(FIRST, place), self.kind(FIRST + 1, place)
        first.run()
        second.run()
        self.assertNotEqual(first.trace, second.trace)
