# SPDX-License-Identifier: Apache-2.0
"""A few callers may wait for a turn; the others are refused at once."""

import concurrent.futures
import contextlib
import threading
import time

import fixtures
import testtools

from manila_lite import errors, thread_reserve
from manila_lite.tests import waiting

#: The seconds of the product.
_PATIENCE = thread_reserve.PATIENCE


class Turns(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(fixtures.MonkeyPatch('manila_lite.thread_reserve.time', self))
        self.be_patient((waiting.LIMIT, waiting.LIMIT))
        self.ahead = 0.0

    def monotonic(self):
        return time.monotonic() + self.ahead

    def be_patient(self, seconds):
        self.useFixture(fixtures.MonkeyPatch('manila_lite.thread_reserve.PATIENCE', seconds))

    def inside(self, *ways):
        """Take these turns, and let more time pass than anybody waits for."""
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        for way in ways:
            stack.enter_context(way)
        self.ahead += 2 * waiting.LIMIT

    def refused(self, way):
        began = time.monotonic()
        refusal = self.assertRaises(errors.Busy, way.__enter__)
        self.assertLess(time.monotonic() - began, min(thread_reserve.PATIENCE))
        return str(refusal)

    def test_limits_are_computed_from_the_number_of_threads(self):
        for threads, bounds in (
            (1, (1, 1, 1)),
            (2, (1, 1, 1)),
            (3, (2, 1, 1)),
            (4, (3, 2, 1)),
            (8, (7, 4, 2)),
            (64, (63, 32, 16)),
        ):
            found = thread_reserve.ThreadReserve(threads)
            self.assertEqual(bounds, (found.all, found.most, found.each), threads)
        found = thread_reserve.ThreadReserve(8, 3, 3)
        self.assertEqual((7, 3, 3), (found.all, found.most, found.each))
        self.assertEqual((6, 3), ((found := thread_reserve.ThreadReserve(8, 6)).most, found.each))

    def test_reserve_without_limits_refuses_no_turn(self):
        found = thread_reserve.ThreadReserve()
        self.inside(*(found.work('a') for _ in range(100)), *(found.login() for _ in range(100)))

    def test_owner_at_its_limit_is_refused_while_others_get_turns(self):
        found = thread_reserve.ThreadReserve(8)
        self.inside(found.work('a'), found.work('a'))
        self.refused(found.work('a'))
        with found.work('b'), found.work('b'):
            pass

    def test_work_at_its_limit_is_refused_while_logins_get_turns(self):
        found = thread_reserve.ThreadReserve(8)
        self.inside(*(found.work(owner) for owner in 'abcd'))
        self.assertIn('backends', self.refused(found.work('e', 'backends')))
        with found.login(), found.login(), found.login():
            pass

    def test_last_free_thread_is_refused_to_logins_and_work(self):
        found = thread_reserve.ThreadReserve(8)
        self.inside(*(found.login() for _ in range(7)))
        self.refused(found.login())
        self.refused(found.work('a'))

    def test_callers_without_a_name_count_as_one_owner(self):
        found = thread_reserve.ThreadReserve(4)
        self.inside(found.work(None))
        self.refused(found.work(None))
        with found.login():
            pass

    def test_turn_is_released_after_an_error(self):
        found = thread_reserve.ThreadReserve(2)
        for _ in range(3):
            with contextlib.suppress(KeyError), found.work('a'):
                raise KeyError

    def test_short_concurrent_logins_are_all_served(self):
        """Of twenty quick callers at once, of whom one may be inside, none is refused."""
        found, refused = thread_reserve.ThreadReserve(2), []

        def go():
            try:
                with found.login():
                    pass
            except errors.Busy as busy:
                refused.append(busy)

        threads = [threading.Thread(target=go) for _ in range(20)]
        with found.login():
            for thread in threads:
                thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([], refused)

    def test_wait_for_a_turn_ends_with_a_refusal(self):
        """No caller waits for long, even if each of those inside has just come."""
        self.be_patient(_PATIENCE)
        found = thread_reserve.ThreadReserve(8)
        with found.work('a'), found.work('a'):
            self.assertRaises(errors.Busy, found.work('a').__enter__)
        found = thread_reserve.ThreadReserve(2)
        with found.login():
            self.assertRaises(errors.Busy, found.login().__enter__)

    def test_number_of_waiting_callers_is_limited(self):
        """Few callers stay for work: they hold threads, too."""
        found = thread_reserve.ThreadReserve(8)
        with concurrent.futures.ThreadPoolExecutor(8) as pool, found.work('a'), found.work('a'):
            for _ in range(2):
                pool.submit(self.stay, found)
            waiting.until(lambda: len(found._lined) >= 2, 'two are in line', pause=0.001)
            self.refused(found.work('a'))
            self.inside(found.login(), found.login(), found.login())
            self.refused(found.login())

    def test_work_is_refused_at_once_if_waiting_needs_the_last_thread(self):
        found = thread_reserve.ThreadReserve(3)
        with found.work('a'), found.login():
            self.refused(found.work('b'))

    def stay(self, found):
        with contextlib.suppress(errors.Busy), found.work('a'):
            pass
