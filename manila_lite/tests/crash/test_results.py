# SPDX-License-Identifier: Apache-2.0
"""The results of a run of some operations take the place of theirs in the file, and the totals are of all."""

from pathlib import Path

import fixtures
import testtools

from manila_lite.tests.crash import results, truth

_HEADS = ['operation', 'place']


class Merged(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.patch(results, 'FILE', Path(self.useFixture(fixtures.TempDir()).path) / 'results.tsv')
        results.write(
            'old',
            [
                results.Table(
                    'A',
                    [*_HEADS, 'x', 'y'],
                    [['one', 'p', 'ok, 1.0', 'ok, 2.0'], ['two', 'p', 'ok, 9.0', '']],
                ),
                results.Table('B', [*_HEADS, 'z'], [['two', 'q', 'STUCK WRONG error, 3.0']]),
            ],
        )

    def test_rows_of_the_operations_are_replaced(self):
        new = [results.Table('A', [*_HEADS, 'y', 'w'], [['two', 'r', 'ok, 4.0', 'LOST gone, 5.0']])]
        tables = results.merged(new, ['two'])
        self.assertEqual(
            [
                results.Table(
                    'A',
                    [*_HEADS, 'x', 'y', 'w'],
                    [['one', 'p', 'ok, 1.0', 'ok, 2.0', ''], ['two', 'r', '', 'ok, 4.0', 'LOST gone, 5.0']],
                ),
                results.Table('B', [*_HEADS, 'z'], []),
            ],
            tables,
        )
        self.assertEqual(
            '4 cells: 0 stuck, 1 lost, 0 orphan, 0 quota, 0 untold, 0 wrong; the slowest took 5.0 s',
            results.totals(tables, truth.CLASSES),
        )

    def test_totals_count_each_class_of_problems(self):
        self.assertEqual(
            '4 cells: 1 stuck, 0 lost, 0 orphan, 0 quota, 0 untold, 1 wrong; the slowest took 9.0 s',
            results.totals(results.read()[1], truth.CLASSES),
        )
