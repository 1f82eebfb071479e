# SPDX-License-Identifier: Apache-2.0
"""The slots of the history, and the forecast."""

import datetime
from typing import NamedTuple

import testtools

from manila_lite.values import SERIES
from manila_lite.values.share_usage import days_until_full, days_until_pool_is_full

NOW = datetime.datetime(2026, 3, 1, 12, 0)  # noqa: DTZ001 - as the database has it


class Point(NamedTuple):
    measured_at: datetime.datetime
    used_bytes: int
    snapshot_bytes: int = 0


def points(*used, hours=1):
    """Return points up to now, with so many hours between two."""
    return [
        Point(NOW - datetime.timedelta(hours=hours * (len(used) - 1 - number)), size)
        for number, size in enumerate(used)
    ]


class Slots(testtools.TestCase):
    def test_moments_of_a_period_have_one_slot_and_the_next_period_another(self):
        for series in SERIES:
            length = datetime.timedelta(seconds=series.seconds)
            begin = NOW.replace(hour=0)
            self.assertEqual(series.slot(begin), series.slot(begin + length * 0.99))
            self.assertEqual((series.slot(begin) + 1) % series.slots, series.slot(begin + length))
            self.assertEqual(series.slot(begin), series.slot(begin + length * series.slots))

    def test_slots_last_for_a_day_a_month_and_two_years(self):
        spans = [series.seconds * series.slots / 86400 for series in SERIES]
        self.assertEqual([1, 31, 730], spans)


class Forecast(testtools.TestCase):
    def test_share_that_grows_is_full_in_some_days(self):
        self.assertEqual(1.0, days_until_full(points(0, 1, 2), 26))
        self.assertEqual(0.0, days_until_full(points(0, 1, 2), 1))

    def test_share_that_does_not_grow_or_is_hardly_known_is_never_full(self):
        for known in ((), (5,), (5, 5), (5, 4, 3)):
            self.assertIsNone(days_until_full(points(*known), 10))
        self.assertIsNone(days_until_full(points(1, 2, hours=0.5), 10))

    def test_what_is_older_than_a_week_counts_for_nothing(self):
        self.assertIsNone(days_until_full(points(1, *[9] * 8, hours=24), 10))

    def test_pool_fills_with_shares_and_with_snapshots(self):
        known = [one._replace(snapshot_bytes=index) for index, one in enumerate(points(0, 1, 2))]
        self.assertEqual(1.0, days_until_pool_is_full(known, 48))
        self.assertEqual(0.0, days_until_pool_is_full(known, 0))
        self.assertIsNone(days_until_pool_is_full([], 48))
