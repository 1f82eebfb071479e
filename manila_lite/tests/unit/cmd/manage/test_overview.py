# SPDX-License-Identifier: Apache-2.0

import datetime

import testtools

from manila_lite.cmd.manage.overview import Rate

_MIB = 1 << 20
_BEGIN = datetime.datetime(2026, 1, 1)  # noqa: DTZ001 - as in the database


class RateTest(testtools.TestCase):
    def rates(self, *seen):
        """Return the rates of a copy, from seconds and MiB."""
        rate = Rate()
        return [
            rate.add(_BEGIN + datetime.timedelta(seconds=seconds), None if done is None else done * _MIB)
            for seconds, done in seen
        ]

    def test_rate_is_unknown_without_bytes_and_at_the_first_look(self):
        self.assertEqual([None, None, 5.0], self.rates((0, None), (1, 10), (3, 20)))

    def test_only_the_last_half_minute_counts(self):
        self.assertEqual([None, 1.0, 2.0], self.rates((0, 0), (10, 10), (40, 70)))

    def test_copy_that_stands_has_rate_0(self):
        self.assertEqual(0.0, self.rates((0, 0), (10, 10), (41, 10), (60, 10))[-1])

    def test_copy_that_began_anew_is_measured_anew(self):
        self.assertEqual([None, 10.0, None, 1.0], self.rates((0, 0), (1, 10), (2, 1), (3, 2)))
