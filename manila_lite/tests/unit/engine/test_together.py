# SPDX-License-Identifier: Apache-2.0
"""Group commit: who writes, what, and who hears of it."""

import concurrent.futures
import threading

import testtools

from manila_lite.engine import together
from manila_lite.engine.environment import REAL
from manila_lite.tests import waiting


class TogetherTest(testtools.TestCase):
    """Writes wait for ``go_on``, if it is not set."""

    def setUp(self):
        super().setUp()
        self.written, self.begun, self.go_on = [], threading.Semaphore(0), threading.Event()
        self.group = together.Together(REAL, self.write)
        self.pool = self.enterContext(concurrent.futures.ThreadPoolExecutor(80))
        self.addCleanup(self.go_on.set)

    def write(self, items):
        self.written.append(list(items))
        self.begun.release()
        self.assertTrue(self.go_on.wait(waiting.LIMIT))
        if 'worst' in items:
            raise LookupError('worst')
        return [ValueError(item) if item == 'bad' else item.upper() for item in items]

    def put_meanwhile(self, *items):
        """Put the first item, and the others while it is being written. Return the futures."""
        first = self.pool.submit(self.group.put, items[0])
        self.assertTrue(self.begun.acquire(timeout=waiting.LIMIT))
        others = []
        for count, item in enumerate(items[1:], 1):
            others.append(self.pool.submit(self.group.put, item))
            while len(self.group._waiting) < count:
                pass
        self.go_on.set()
        return [first, *others]

    def test_item_that_comes_alone_is_written_at_once(self):
        self.go_on.set()
        self.assertEqual(['A', 'B'], [self.group.put('a'), self.group.put('b')])
        self.assertEqual([['a'], ['b']], self.written)

    def test_items_that_come_meanwhile_are_written_together(self):
        futures = self.put_meanwhile('a', 'b', 'c', 'd')
        self.assertEqual(['A', 'B', 'C', 'D'], [future.result(waiting.LIMIT) for future in futures])
        self.assertEqual([['a'], ['b', 'c', 'd']], self.written)

    def test_each_gets_its_own_error(self):
        futures = self.put_meanwhile('a', 'bad', 'c')
        self.assertEqual('C', futures[2].result(waiting.LIMIT))
        self.assertEqual(('bad',), self.assertRaises(ValueError, futures[1].result, waiting.LIMIT).args)

    def test_failed_write_fails_for_all_of_it_and_the_next_goes_on(self):
        futures = self.put_meanwhile('a', 'b', 'worst')
        for future in futures[1:]:
            self.assertRaises(LookupError, future.result, waiting.LIMIT)
        self.assertEqual('E', self.group.put('e'))

    def test_write_has_a_limit_and_what_is_left_comes_next(self):
        items = [f'item {number}' for number in range(together.MOST + 6)]
        futures = self.put_meanwhile(*items)
        self.assertEqual(
            [item.upper() for item in items], [future.result(waiting.LIMIT) for future in futures]
        )
        self.assertEqual([1, together.MOST, 5], [len(batch) for batch in self.written])
