# SPDX-License-Identifier: Apache-2.0
"""Pauses between looks at a copy."""

import testtools

from manila_lite.manager.plans import poll_backoff


class Pauses(testtools.TestCase):
    def test_pauses_double_up_to_the_interval(self):
        self.assertEqual(
            [1, 2, 4, 8, 16, 32, 60, 60], [poll_backoff.pause(looks, 60.0) for looks in range(8)]
        )

    def test_short_interval_is_never_exceeded(self):
        self.assertEqual([0.1, 0.1], [poll_backoff.pause(looks, 0.1) for looks in (0, 5)])

    def test_interval_holds_after_many_looks(self):
        self.assertEqual(300.0, poll_backoff.pause(10**9, 300.0))
