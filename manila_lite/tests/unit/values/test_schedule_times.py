# SPDX-License-Identifier: Apache-2.0
"""Times of schedules, in particular when clocks change."""

import datetime
import itertools

import testtools

from manila_lite.values import schedule_times

_BERLIN = 'Europe/Berlin'


def at(text):
    return datetime.datetime.fromisoformat(text)


def times(cron, zone, after, count):
    return [one.isoformat(' ', 'minutes') for one in schedule_times.next_times(cron, zone, at(after), count)]


class Expressions(testtools.TestCase):
    def test_blanks_do_not_matter(self):
        self.assertEqual('0 3 * * mon', schedule_times.check_cron('  0 3\t* *  mon '))

    def test_a_wrong_expression_is_refused_with_the_field(self):
        for text, why in (
            ('61 * * * *', 'minute'),
            ('* 24 * * *', 'hour'),
            ('* * 0 * *', 'day of month'),
            ('0 0 30 2 *', 'day of month'),
            ('* * * 13 *', 'month'),
            ('* * * * 8', 'day of week'),
            ('*/0 * * * *', 'minute'),
            ('5-3 * * * *', 'minute'),
            ('', 'it has 0'),
            ('* * * *', 'it has 4'),
            ('0 0 * * * *', 'it has 6'),
            ('@daily', 'it has 1'),
            ('* * */20 * 1L', 'fits no time'),
        ):
            self.assertIn(why, str(self.assertRaises(ValueError, schedule_times.check_cron, text)), text)

    def test_an_unknown_zone_is_refused(self):
        self.assertEqual(_BERLIN, schedule_times.check_zone(_BERLIN))
        for name in ('', 'Berlin', 'Europe', '/etc/passwd', '../UTC', 'europe/berlin', 'CET\0'):
            self.assertIn(
                'name of a time zone', str(self.assertRaises(ValueError, schedule_times.check_zone, name))
            )


class Changes(testtools.TestCase):
    """Berlin: on 2026-03-29, 02:00 becomes 03:00 (01:00 UTC); on 2026-10-25, 03:00 becomes 02:00 (01:00 UTC)."""

    def test_the_local_time_stays_the_same_in_summer(self):
        self.assertEqual(
            ['2026-03-28 03:00', '2026-03-29 02:00', '2026-03-30 02:00'],
            times('0 4 * * *', _BERLIN, '2026-03-27 12:00', 3),
        )

    def test_a_time_that_is_skipped_comes_right_after(self):
        self.assertEqual(
            ['2026-03-28 01:30', '2026-03-29 01:00', '2026-03-30 00:30'],
            times('30 2 * * *', _BERLIN, '2026-03-27 12:00', 3),
        )

    def test_several_times_that_are_skipped_come_once(self):
        self.assertEqual(
            ['2026-03-29 01:00', '2026-03-30 00:00', '2026-03-30 00:30'],
            times('0,30 2 * * *', _BERLIN, '2026-03-28 12:00', 3),
        )

    def test_a_time_that_comes_twice_counts_once(self):
        self.assertEqual(
            ['2026-10-25 00:30', '2026-10-26 01:30'], times('30 2 * * *', _BERLIN, '2026-10-24 12:00', 2)
        )

    def test_a_time_that_comes_twice_is_over_in_the_second_hour(self):
        # 02:10, for the second time: 02:30 was half an hour ago.
        self.assertEqual(['2026-10-26 01:30'], times('30 2 * * *', _BERLIN, '2026-10-25 01:10', 1))

    def test_each_hour_runs_by_the_time_that_passes(self):
        for after in ('2026-03-28 23:59', '2026-10-24 23:59'):
            found = schedule_times.next_times('0 * * * *', _BERLIN, at(after), 6)
            self.assertEqual(
                {datetime.timedelta(hours=1)}, {b - a for a, b in itertools.pairwise(found)}, after
            )

    def test_times_grow_in_every_zone_for_two_years(self):
        for zone in (
            'UTC',
            _BERLIN,
            'America/Sao_Paulo',
            'Australia/Lord_Howe',
            'Africa/Casablanca',
            'Pacific/Apia',
        ):
            for cron in ('30 2 * * *', '*/20 1-3 * * *', '15 */6 * * *', '0 0 1 * *', '0,30 0,2 * * sun'):
                found = schedule_times.next_times(cron, zone, at('2026-01-01'), 500)
                self.assertTrue(all(a < b for a, b in itertools.pairwise(found)), (zone, cron))


class Moved(testtools.TestCase):
    def test_jitter_is_the_same_each_time_and_within_its_bounds(self):
        offsets = {schedule_times.offset_of(str(number), 600) for number in range(1000)}
        self.assertEqual(schedule_times.offset_of('a', 600), schedule_times.offset_of('a', 600))
        self.assertTrue(offsets <= set(range(601)) and len(offsets) > 300, len(offsets))
        self.assertEqual(0, schedule_times.offset_of('a', 0))

    def test_no_time_is_left_out_by_jitter(self):
        found = schedule_times.next_times('0 * * * *', 'UTC', at('2026-01-01 00:10'), 3, 1800)
        self.assertEqual([at(f'2026-01-01 0{hour}:30') for hour in range(3)], found)

    def test_the_last_time_before_another(self):
        self.assertEqual(
            at('2026-01-01'), schedule_times.preceding('0 0 * * *', 'UTC', at('2026-01-01 00:01'))
        )
        self.assertEqual(at('2025-12-31'), schedule_times.preceding('0 0 * * *', 'UTC', at('2026-01-01')))
        self.assertIsNone(schedule_times.preceding('0 0 * * *', 'UTC', at('1970-01-01')))
