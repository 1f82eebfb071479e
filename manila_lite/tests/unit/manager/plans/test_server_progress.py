# SPDX-License-Identifier: Apache-2.0
"""The progress over several shares, by the figures of each."""

import unittest

from manila_lite.manager.plans.server_progress import of_all
from manila_lite.values import MigrationProgress

_NOT_BEGUN = MigrationProgress(0)


def _done(size):
    return MigrationProgress(100, size, size, 3, 3)


class Progress(unittest.TestCase):
    def test_nothing_is_known_at_the_beginning(self):
        self.assertEqual(MigrationProgress(0), of_all([(1, _NOT_BEGUN), (3, _NOT_BEGUN)]))

    def test_percentage_is_that_of_the_sizes(self):
        self.assertEqual(25, of_all([(1, _done(10)), (3, _NOT_BEGUN)]).percent)

    def test_shares_that_have_not_begun_are_taken_to_be_as_full_as_others(self):
        told = of_all([(1, _done(10)), (3, _NOT_BEGUN)])
        self.assertEqual((10, 40), (told.bytes_done, told.bytes_total))

    def test_number_of_all_files_is_told_once_it_is_known(self):
        self.assertEqual(
            (3, None),
            (of_all([(1, _done(10)), (3, _NOT_BEGUN)]).done, of_all([(1, _done(10)), (3, _NOT_BEGUN)]).total),
        )
        self.assertEqual(
            (6, 6),
            (of_all([(1, _done(10)), (3, _done(5))]).done, of_all([(1, _done(10)), (3, _done(5))]).total),
        )

    def test_everything_is_there_at_the_end_and_not_before(self):
        self.assertEqual((100, 15, 15), _shown([(1, _done(10)), (3, _done(5))]))
        nearly = MigrationProgress(99, 5, 5)
        percent, done, total = _shown([(1, _done(10)), (3, nearly)])
        self.assertLess(percent, 100)
        self.assertLess(done, total)

    def test_empty_shares_are_no_fault(self):
        self.assertEqual((100, 0, 0), _shown([(1, _done(0))]))
        self.assertEqual((50, 0, 1), _shown([(1, _done(0)), (1, _NOT_BEGUN)]))


def _shown(shares):
    told = of_all(shares)
    return told.percent, told.bytes_done, told.bytes_total
