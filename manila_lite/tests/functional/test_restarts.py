# SPDX-License-Identifier: Apache-2.0
"""Restarts of share managers are not felt: a share waits for a backend that was up a moment ago."""

import time

import testtools

from manila_lite.tests import process


class Restarts(testtools.TestCase):
    """Services in processes of their own; the only share manager ends, and comes back or not."""

    def stopped(self, wait):
        """Start everything, and end the share manager."""
        parts = self.useFixture(process.Parts(backend='driver = dummy\ndummy_pool_size_gb = 10\n'))
        parts.edit('restart_wait = 0\n', f'restart_wait = {wait}\n')
        manager = parts.begin()
        manager.terminate()
        self.assertEqual(0, manager.wait(timeout=60))
        return parts

    def test_share_waits_for_a_share_manager_that_is_restarted(self):
        parts = self.stopped(60)
        share = parts.share()
        time.sleep(2)       # several looks of the scheduler
        self.assertEqual('creating', parts.ok('GET', f'/shares/{share}')['share']['status'])
        parts.run('share')
        parts.wait(f'/shares/{share}', 'share', 'available')

    def test_share_waits_for_no_backend_that_would_not_suit_it(self):
        parts = self.stopped(600)
        share = parts.share(size=11)
        parts.wait(f'/shares/{share}', 'share', 'error')

    def test_share_that_waited_in_vain_is_told_that_the_backend_is_down(self):
        parts = self.stopped(2)
        share = parts.share()
        parts.wait(f'/shares/{share}', 'share', 'error')
        [message] = parts.ok('GET', f'/messages?resource_id={share}')['messages']
        self.assertIn('the service of the backend is down', message['user_message'])
        self.assertNotIn('smaller', message['user_message'])
