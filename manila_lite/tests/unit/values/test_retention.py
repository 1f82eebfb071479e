# SPDX-License-Identifier: Apache-2.0
"""Retention of what schedules make: pure decisions on times."""

import calendar
import datetime
import random

import testtools

from manila_lite.values import retention, schedule_times
from manila_lite.values.retention import Copy, State

_START = datetime.datetime.fromisoformat('2026-01-01')
_HOUR = datetime.timedelta(hours=1)


def copies(text):
    """Return copies, an hour apart and the oldest first: g is good, d doubtful, f failed, b busy. Ids are their numbers."""
    states = {'g': State.GOOD, 'd': State.DOUBTFUL, 'f': State.FAILED, 'b': State.BUSY}
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

    def test_half_an_hour_that_comes_twice_counts_as_two(self):
        # At 15:00 UTC clocks of Lord Howe Island go back from 02:00 to 01:30.
        times = [datetime.datetime.fromisoformat(f'2030-04-06T{at}') for at in ('14:45', '15:15', '15:45')]
        self.assertEqual({*times}, retention.kept(times, {'hour': 3}, 'Australia/Lord_Howe'))

    def test_what_is_left_of_an_hour_when_clocks_go_forward_is_one(self):
        # At 15:30 UTC they go forward from 02:00 to 02:30.
        times = [
            datetime.datetime.fromisoformat(f'2030-10-05T{at}')
            for at in ('15:00', '15:15', '15:35', '15:55', '16:05')
        ]
        self.assertEqual(
            {times[1], times[3], times[4]}, retention.kept(times, {'hour': 3}, 'Australia/Lord_Howe')
        )

    def test_days_of_23_and_25_hours_are_days(self):
        # Clocks of Berlin change on 2026-03-29 and 2026-10-25: a copy of each hour, for five days around each.
        for first, kept in (
            ('2026-03-27', ['2026-03-27 22:30', '2026-03-28 22:30', '2026-03-29 21:30', '2026-03-30 21:30']),
            ('2026-10-23', ['2026-10-23 21:30', '2026-10-24 21:30', '2026-10-25 22:30', '2026-10-26 22:30']),
        ):
            begin = datetime.datetime.fromisoformat(first)
            times = [begin + number * _HOUR / 2 for number in range(2 * 24 * 4) if number % 2]
            found = sorted(retention.kept(times, {'day': 5}, 'Europe/Berlin'))
            # The last one is of the day that has just begun.
            self.assertEqual(kept, [one.isoformat(' ', 'minutes') for one in found[:4]])
            self.assertEqual(times[-1], found[-1])
            self.assertEqual({*times}, retention.kept(times, {'hour': 366}, 'Europe/Berlin'))

    def test_weeks_months_and_years_begin_by_the_clock_of_the_zone_on_both_sides_of_its_changes(self):
        # Midnight in Berlin is 23:00 UTC in winter and 22:00 UTC in summer.
        for rule, before, after in (
            ('week', '2026-03-29 21:59', '2026-03-29 22:00'),  # the Sunday on which summer time begins
            ('week', '2026-10-25 22:59', '2026-10-25 23:00'),  # and on which it ends
            ('month', '2026-03-31 21:59', '2026-03-31 22:00'),
            ('month', '2026-10-31 22:59', '2026-10-31 23:00'),
            ('year', '2026-12-31 22:59', '2026-12-31 23:00'),
        ):
            pair = [datetime.datetime.fromisoformat(one) for one in (before, after)]
            self.assertEqual({*pair}, retention.kept(pair, {rule: 9}, 'Europe/Berlin'), (rule, before))
            minute = datetime.timedelta(minutes=1)
            same = [pair[0] - minute, pair[0]]
            self.assertEqual({pair[0]}, retention.kept(same, {rule: 9}, 'Europe/Berlin'), (rule, before))

    def test_grandfather_father_and_son_over_two_years(self):
        """A copy each day, of which what expires goes each time: 7 days, 4 weeks, 12 months and 2 years stay."""
        keep, zone = {'day': 7, 'week': 4, 'month': 12, 'year': 2}, 'Europe/Berlin'
        there, at = [], schedule_times.following('0 3 * * *', zone, _START)
        end = datetime.datetime.fromisoformat('2028-01-13T12:00')
        while at < end:
            there.append(Copy(str(at), at, State.GOOD))
            gone = {*retention.expired(there, keep, zone)}
            there = [copy for copy in there if copy.id not in gone]
            at = schedule_times.following('0 3 * * *', zone, at)
        local = [schedule_times.in_zone(copy.at, zone).isoformat(' ', 'minutes')[:16] for copy in there]
        days = [f'2028-01-{day:02} 03:00' for day in range(7, 14)]
        weeks = ['2027-12-26 03:00', '2028-01-02 03:00', '2028-01-09 03:00']
        months = [f'2027-{month:02}-{calendar.monthrange(2027, month)[1]} 03:00' for month in range(2, 13)]
        self.assertEqual(sorted({*days, *weeks, *months}), local)

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

    def test_doubtful_ones_stay_as_long_as_good_ones_and_take_the_place_of_none(self):
        self.assertEqual('', self.expired('gd'))
        self.assertEqual('01', self.expired('gdg'))
        self.assertEqual('0', self.expired('dggd', last=3))
        self.assertEqual('', self.expired('gdgg', last=4))
        self.assertEqual('01', self.expired('gdgg', last=2))

    def test_the_last_good_one_is_never_deleted(self):
        rand = random.Random(1)
        for _ in range(2000):
            text = ''.join(rand.choice('gdfb') for _ in range(rand.randrange(12)))
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

    def test_an_hour_in_which_clocks_change_is_as_in_the_choice(self):
        cron, zone, keep = '*/15 * * * *', 'Australia/Lord_Howe', {'hour': 5}
        for begin in ('2030-04-06T12:00', '2030-10-05T12:00'):
            at, times = datetime.datetime.fromisoformat(begin), []
            while len(times) < 24:
                at = schedule_times.following(cron, zone, at)
                times.append(at)
            kept = sorted(retention.kept(times, keep, zone), reverse=True)
            now = at + datetime.timedelta(minutes=1)
            self.assertEqual(kept, retention.standing(cron, zone, keep, now))

    def test_rare_times_end_it(self):
        found = retention.standing('0 0 29 2 *', 'UTC', {'year': retention.MOST}, _START)
        self.assertEqual([2024, 2020, 2016], [one.year for one in found[:3]])
        self.assertEqual(1972, found[-1].year)
