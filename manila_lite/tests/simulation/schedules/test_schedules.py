# SPDX-License-Identifier: Apache-2.0
"""Histories of schedules: ``$SIMULATION_SCHEDULES`` of them, from ``$SIMULATION_SEED`` on: others with each commit.

A failure names its seed and the command to see that history again.
"""

import datetime
import os
import random

import testtools

from manila_lite.tests.simulation import test_simulation
from manila_lite.tests.simulation.schedules import oracle
from manila_lite.tests.simulation.schedules.history import BEGINS, KEEPS, SchedulesHistory, crons
from manila_lite.values import retention, schedule_times


class Histories(test_simulation.Histories):
    kind = SchedulesHistory
    count = int(os.environ.get('SIMULATION_SCHEDULES', '8'))

    def test_each_time_runs_once_and_the_newest_good_copy_stays(self):
        self.check()


globals().update(test_simulation.in_parts(Histories, 2))


class SameSeedTest(test_simulation.SameSeedTest):
    kind = SchedulesHistory
    seeds = 1


class OracleTest(testtools.TestCase):
    """What histories are compared with, and the product, without faults."""

    def test_times_around_each_change_of_clocks_are_the_same(self):
        for begin, zone in BEGINS:
            first = datetime.datetime.fromisoformat(begin) - datetime.timedelta(days=1)
            last = first + datetime.timedelta(days=3)
            for cron in crons(zone):
                found, at = set(), first
                while (at := schedule_times.following(cron, zone, at)) <= last:
                    found.add(at)
                self.assertEqual(oracle.times(cron, zone, first, last) - {first}, found, f'{cron} in {zone}')

    def test_the_same_copies_are_kept(self):
        rng = random.Random(test_simulation.FIRST)
        for _ in range(1000):
            begin, zone = rng.choice(BEGINS)
            first, spread = datetime.datetime.fromisoformat(begin), rng.choice((40, 400, 90000))
            good = {
                first + datetime.timedelta(minutes=10 * rng.randint(0, spread))
                for _ in range(rng.randint(1, 20))
            }
            keep = rng.choice(KEEPS)
            kept = retention.kept(good, keep, zone)
            self.assertEqual(oracle.kept(good, keep, zone), kept, f'{keep} of {good} in {zone}')
            self.assertIn(max(good), kept)
