# SPDX-License-Identifier: Apache-2.0
"""Calls that may hang are given up in time, and their late results are not lost."""

import threading

import testtools

from manila_lite.drivers.cephfs.cluster import deadline
from manila_lite.tests import waiting


class Deadline(testtools.TestCase):
    def test_result_and_error_are_those_of_the_call(self):
        self.assertEqual(3, deadline.call(lambda: 3, 60))
        self.assertRaises(ZeroDivisionError, deadline.call, lambda: 1 / 0, 60)

    def test_call_that_hangs_is_given_up_and_its_late_result_is_passed_on(self):
        go, late, came = threading.Event(), [], threading.Event()

        def take(value):
            late.append(value)
            came.set()

        self.assertRaises(
            deadline.Hangs, deadline.call, lambda: go.wait(waiting.LIMIT) and 'late', 0.01, late=take
        )
        go.set()
        self.assertTrue(came.wait(waiting.LIMIT))
        self.assertEqual(['late'], late)

    def test_calls_that_hang_do_not_pile_up(self):
        go = threading.Event()
        self.addCleanup(go.set)
        for _ in range(deadline.MOST):
            self.assertRaises(deadline.Hangs, deadline.call, lambda: go.wait(waiting.LIMIT), 0)
        self.assertIn('hang already', str(self.assertRaises(deadline.Hangs, deadline.call, lambda: 1, 60)))
        go.set()
        waiting.until(
            lambda: deadline.call(lambda: 1, waiting.LIMIT), 'it works again', ignoring=(deadline.Hangs,)
        )
