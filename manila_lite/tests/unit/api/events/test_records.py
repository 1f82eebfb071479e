# SPDX-License-Identifier: Apache-2.0

import datetime

import testtools

from manila_lite.api.events.records import STATUS, History, Record

_BEGIN = datetime.datetime(2026, 1, 1)  # noqa: DTZ001 - as in the database


def _at(seconds):
    return _BEGIN + datetime.timedelta(seconds=seconds)


def _record(key, seconds, look=0, state=None):
    return Record(STATUS, key, 'p', 'share', key, state or (key, seconds), _at(seconds), look)


class Histories(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.history = History(_BEGIN, 3, 100.0)

    def keys(self, records):
        return None if records is None else [record.key for record in records]

    def add(self, *numbers):
        for number in numbers:
            self.history.add(_record(f'k{number}', number, number))

    def test_changes_after_a_look_are_in_order_each_thing_once(self):
        self.add(1, 2)
        self.history.add(_record('k1', 3, 3))
        self.assertEqual(['k2', 'k1'], self.keys(self.history.after_look(1)))
        self.assertEqual(['k1'], self.keys(self.history.after_look(2)))
        self.assertEqual([], self.keys(self.history.after_look(3)))

    def test_more_changes_than_fit_make_older_positions_unknown(self):
        self.add(1, 2, 3, 4)
        self.assertIsNone(self.history.after_look(0))
        self.assertEqual(['k2', 'k3', 'k4'], self.keys(self.history.after_look(1)))
        self.assertIsNone(self.history.after_time(_at(1)))
        self.assertEqual(['k2', 'k3', 'k4'], self.keys(self.history.after_time(_at(2))))

    def test_changes_that_are_too_old_make_older_positions_unknown(self):
        self.add(1, 2)
        self.history.expire(_at(102))
        self.assertIsNone(self.history.after_look(0))
        self.assertEqual(['k2'], self.keys(self.history.after_look(1)))
        self.assertIsNone(self.history.after_time(_at(1)))

    def test_quiet_time_makes_older_times_unknown_too(self):
        self.history.expire(_at(150))
        self.assertIsNone(self.history.after_time(_at(49)))
        self.assertEqual([], self.history.after_time(_at(50)))

    def test_older_changes_come_before_and_do_not_replace_newer_ones(self):
        self.add(1, 2)
        self.history.prepend([_record('k1', -5), _record('k0', -1), _record('k9', -3)], _at(-10))
        self.assertEqual(['k9', 'k0', 'k1', 'k2'], self.keys(self.history.after_time(_at(-10))))
        self.assertEqual(['k1', 'k2'], self.keys(self.history.after_look(0)))
        self.assertEqual(_at(1), self.history.last('k1').at)

    def test_same_state_is_no_news(self):
        self.history.add(_record('k', 1, 1, state='on'))
        self.assertFalse(self.history.is_news(_record('k', 2, state='on')))
        self.assertTrue(self.history.is_news(_record('k', 2, state='off')))
        self.assertTrue(self.history.is_news(_record('other', 2, state='on')))

    def test_few_renderings_are_kept(self):
        record = _record('k', 1)
        for number in range(1000):
            record.keep(number, b'x')
        self.assertLess(len(record.rendered), 20)
        self.assertEqual(b'x', record.rendered[999])
