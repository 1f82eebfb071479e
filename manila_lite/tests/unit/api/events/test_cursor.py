# SPDX-License-Identifier: Apache-2.0

import datetime

import testtools

from manila_lite.api.events import cursor

_TIME = datetime.datetime(2026, 11, 26, 16, 35, 12, 345000)  # noqa: DTZ001 - as in the database


class Cursors(testtools.TestCase):
    def test_cursor_is_read_as_it_was_written(self):
        for time in (_TIME, cursor.EPOCH, _TIME.replace(year=9999)):
            one = cursor.Cursor(time, '0a1b2c3d', 31, 'ffffffff')
            self.assertEqual(one, cursor.parse(str(one)))
            self.assertLessEqual(len(str(one)), cursor.LONGEST)

    def test_microseconds_are_rounded_down_so_that_nothing_is_skipped(self):
        one = cursor.Cursor(_TIME.replace(microsecond=345999), '0a1b2c3d', 0, '00000000')
        self.assertEqual(_TIME, cursor.parse(str(one)).time)

    def test_anything_else_is_none(self):
        good = str(cursor.Cursor(_TIME, '0a1b2c3d', 31, 'ffffffff'))
        for text in (
            '',
            'x',
            f'{good}\n',
            f' {good}',
            good.upper(),
            good[:-1],
            f'{good}0',
            '2' + good[1:],
            good.replace('-', '_'),
            '1-ffffffffffff-0a1b2c3d-0-00000000',
            '1-\u0661-0a1b2c3d-0-00000000',
        ):
            self.assertIsNone(cursor.parse(text), text)
