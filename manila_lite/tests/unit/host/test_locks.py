# SPDX-License-Identifier: Apache-2.0
"""Locks by name: one name keeps only its own users waiting, and nothing is left of it."""

import threading

import testtools

from manila_lite.host.locks import Locks
from manila_lite.tests import waiting

_NAMES = 200


class LocksTest(testtools.TestCase):
    def test_a_name_that_is_held_keeps_no_other_waiting(self):
        locks = Locks()
        with locks.of('busy'):
            done = threading.Thread(
                target=self.take, args=(locks, [f'other-{number}' for number in range(_NAMES)])
            )
            done.start()
            done.join(waiting.LIMIT)
            self.assertFalse(done.is_alive())

    def test_threads_with_one_name_take_turns_and_leave_nothing(self):
        locks, inside, most = Locks(), [], []

        def work():
            for _ in range(_NAMES):
                with locks.of('same'):
                    inside.append(1)
                    most.append(len(inside))
                    inside.pop()

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(waiting.LIMIT)
        self.assertEqual((4 * _NAMES, 1), (len(most), max(most)))
        self.assertEqual({}, locks._used)

    def test_a_thread_may_hold_its_own_lock_again_if_the_kind_allows_it(self):
        locks = Locks(threading.RLock)
        with locks.of('mine'), locks.of('mine'):
            self.assertEqual(2, locks._used['mine'][1])
        self.assertEqual({}, locks._used)

    def take(self, locks, names):
        for name in names:
            with locks.of(name):
                pass
