# SPDX-License-Identifier: Apache-2.0
"""Notes that wait to be written: few rows for any number of requests, and no request uncounted."""

import testtools

from manila_lite.api.http.unwritten_notes import MOST, PER_MINUTE, UnwrittenNotes


def note(number, *, slow=0, failed=1):
    return {
        'created_at': number,
        'api_host': 'a',
        'method': 'GET',
        'path': '/v2/shares',
        'code': 500,
        'request_id': f'req-{number}',
        'project_id': 'p',
        'seconds': float(number),
        'requests': 1,
        'slow': slow,
        'failed': failed,
    }


class Unwritten(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.notes = UnwrittenNotes()

    def add(self, count, now, **more):
        for number in range(count):
            self.notes.add(note(number, **more), now)

    def test_notes_are_taken_once_in_their_order(self):
        self.assertFalse(self.notes)
        self.add(3, 0.0)
        self.assertTrue(self.notes)
        self.assertEqual([note(number) for number in range(3)], self.notes.take(1.0))
        self.assertEqual([], self.notes.take(1.0))
        self.assertFalse(self.notes)

    def test_one_row_counts_what_is_too_much_for_a_minute(self):
        self.add(PER_MINUTE + 10, 100.0)
        self.add(5, 159.0, slow=1, failed=0)
        self.assertEqual(PER_MINUTE - 1, len(self.notes.take(159.9)))
        self.assertTrue(self.notes)
        self.assertEqual(
            [
                {
                    'created_at': 4,
                    'api_host': 'a',
                    'method': None,
                    'path': None,
                    'code': None,
                    'request_id': None,
                    'project_id': None,
                    'seconds': PER_MINUTE + 9.0,
                    'requests': 16,
                    'slow': 5,
                    'failed': 11,
                }
            ],
            self.notes.take(160.0),
        )
        self.assertFalse(self.notes)

    def test_each_minute_has_its_own_rows(self):
        for minute in range(3):
            self.add(PER_MINUTE * 2, 60.0 * minute)
        rows = self.notes.take(180.0)
        self.assertEqual([PER_MINUTE * 3, PER_MINUTE * 6], [len(rows), sum(row['requests'] for row in rows)])

    def test_notes_that_could_not_be_written_come_first_and_are_no_more_than_fit(self):
        self.add(2, 0.0)
        first = self.notes.take(1.0)
        self.add(1, 1.0, slow=1)
        self.notes.put_back(first)
        for minute in range(1, 100):
            self.add(PER_MINUTE, 60.0 * minute)
        rows = self.notes.take(6000.0)
        self.assertEqual([*first, note(0, slow=1)], rows[:3])
        self.assertTrue(len(rows) <= MOST, len(rows))
        self.assertEqual(
            3 + PER_MINUTE * 99, sum(row['requests'] for row in [*rows, *self.notes.take(6060.0)])
        )
        self.assertFalse(self.notes)
