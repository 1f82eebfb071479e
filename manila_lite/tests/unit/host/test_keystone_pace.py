# SPDX-License-Identifier: Apache-2.0
"""Requests to Keystone after the clock was set back."""

import testtools
from keystoneauth1 import _fair_semaphore, adapter

from manila_lite.host import keystone_pace


class Pace(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.slept = []
        self.patch(_fair_semaphore.time, 'sleep', self.slept.append)
        keystone_pace.keep_none()

    def begin(self, **rate):
        made = adapter.Adapter(None, **rate)._rate_semaphore
        made._rate_last_ts += 7200  # it was made while the clock was two hours ahead
        with made:
            return self.slept

    def test_requests_without_a_rate_begin_at_once(self):
        self.assertEqual([], self.begin())

    def test_requests_with_a_rate_wait(self):
        self.assertEqual(1, len(self.begin(rate_limit=1)))
