# SPDX-License-Identifier: Apache-2.0
"""Retention of what schedules make: pure decisions on times."""

import datetime
import random

import testtools

from manila_lite.values import retention, schedule_times
from manila_lite.values.retention import Copy, State

_START = datetime.datetime.fromisoformat('2026-01-01')
_HOUR = datetime.timedelta(hours=1)


def copies(text):
    """Return copies, an hour apart and the oldest first: g is good, f failed, b busy. Their ids are their numbers."""
    states = {'g': State.GOOD, 'f': State.FAILED, 'b': State.BUSY}
    return [Copy(str(number), _START + number * _HOUR, states[one]) for number, one in enumerate(text)]


class Choice(testtools.TestCase):
    def test_each_rule_keeps_the_newest_of_its_last_periods(self):
        times = [
            _START + number * _HOUR / 2 for number in range(24 * 2 * 400)
        ]  # 400 days, to 2027-02-04 23:30
        for rule, count, kept in (
            ('last', 2, ['2027-02-04 23:00', '2027-02-04 23:30']),
            ('hour', 2, ['2027-02-04 22:30', '2027-02-04 23:30']),
            ('day', 3, ['2027-02-02 23:30', '2027-02-03 23:30', '2027-02-04 23:30']),
            ('week', 2, ['2027-01-31 23:30', '2027-02-04 23:30']),
            ('month', 3, ['2026-12-31 23:30', '2027-01-31 23:30', '2027-02-04 23:30']),
            ('year', 5, ['2026-12-31 23:30', '2027-02-04 23:30']),
        ):
            found = sorted(retention.kept(times, {rule: count}, 'UTC'))
            self.assertEqual(kept, [one.isoformat(' ', 'minutes') for one in found], rule)

    def test_periods_without_any_do_not_count(self):
        times = [_START, _START + 9 * _HOUR, _START + 90 * _HOUR]
        self.assertEqual(set(times), retention.kept(times, {'hour': 3}, 'UTC'))

    def test_days_are_those_of_the_zone(self):
        # 22:30 and 23:30 UTC are two days in Berlin, and one in London.
        times = [_START + 22.5 * _HOUR, _START + 23.5 * _HOUR]
        self.assertEqual(2, len(retention.kept(times, {'day': 2}, 'Europe/Berlin')))
        self.assertEqual(1, len(retention.kept(times, {'day': 2}, 'Europe/London')))

    def test_an_hour_that_comes_twice_counts_as_two(self):
        times = [
            datetime.datetime.fromisoformat(f'2026-10-25T0{hour}:30') for hour in (0, 1)
        ]  # both 02:30 in Berlin
        self.assertEqual(2, len(retention.kept(times, {'hour': 2}, 'Europe/Berlin')))

    def test_without_a_rule_all_are_kept(self):
        self.assertEqual([], retention.expired(copies('gfgfg'), {}, 'UTC'))


class Deletion(testtools.TestCase):
    def expired(self, text, **keep):
        return ''.join(retention.expired(copies(text), keep or {'last': 1}, 'UTC'))

    def test_failed_ones_count_for_nothing(self):
        self.assertEqual('', self.expired('gf'))
        self.assertEqual('1', self.expired('gff'))
        self.assertEqual('0', self.expired('fg'))
        self.assertEqual('12', self.expired('gfff'))
        self.assertEqual('0', self.expired('ff'))

    def test_busy_ones_are_left_alone_and_count_for_nothing(self):
        self.assertEqual('', self.expired('bbgb'))
        self.assertEqual('0', self.expired('gbgb'))

    def test_the_last_good_one_is_never_deleted(self):
        rand = random.Random(1)
        for _ in range(2000):
            text = ''.join(rand.choice('gfb') for _ in range(rand.randrange(12)))
            keep = {rule: rand.randrange(1, 4) for rule in retention.RULES if rand.random() < 0.5}
            gone = {text[int(number)]: number for number in retention.expired(copies(text), keep, 'UTC')}
            last = text.rfind('g')
            self.assertNotIn('b', gone, text)
            self.assertNotIn(str(last), retention.expired(copies(text), keep, 'UTC'), (text, keep))


class Preview(testtools.TestCase):
    def test_it_is_what_would_be_there_after_a_long_time(self):
        """Run a schedule for a year, delete what expires each time, and compare."""
        cron, zone, keep = (
            '0 */6 * * *',
            'Europe/Berlin',
            {'last': 2, 'day': 5, 'week': 3, 'month': 4, 'year': 2},
        )
        end = _START + datetime.timedelta(days=420)
        there, at = set(), schedule_times.following(cron, zone, _START - datetime.timedelta(days=420))
        while at < end:
            there = retention.kept({*there, at}, keep, zone)
            at = schedule_times.following(cron, zone, at)
        self.assertEqual(sorted(there, reverse=True), retention.standing(cron, zone, keep, end))

    def test_rare_times_end_it(self):
        found = retention.standing('0 0 29 2 *', 'UTC', {'year': retention.MOST}, _START)
        self.assertEqual([2024, 2020, 2016], [one.year for one in found[:3]])
        self.assertEqual(1972, found[-1].year)
