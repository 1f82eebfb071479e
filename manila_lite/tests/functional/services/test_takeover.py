# SPDX-License-Identifier: Apache-2.0
"""Two share managers for one backend: one works, the other takes over, and they never work at the same time."""

import os
import signal

import testtools

from manila_lite.tests import process, waiting

_STANDS_BY, _TAKES_OVER, _STANDS_BACK = (
    'works there; waiting',
    'this process takes over',
    'stops its work there',
)


class TakeoverTest(testtools.TestCase):
    """Two share managers of one host and configuration file, each a master with a child; the first works."""

    LEASE = 0

    def setUp(self):
        super().setUp()
        self.parts = self.useFixture(process.Parts())
        self.parts.edit('lease = 60', f'lease = {self.LEASE}')
        self.first = self.parts.begin()
        self.second = self.parts.run('share')
        self.said(_STANDS_BY)

    def said(self, words, times=1):
        self.parts.until(lambda: self.parts.log.read_text().count(words) >= times, f'{words} ({times})')

    def signal_all(self, started, signo):
        os.killpg(started.pid, signo)  # it has a session of its own, so this reaches the master and its child

    def is_up(self):
        return [
            row['state']
            for row in self.parts.ok('GET', '/services')['services']
            if row['binary'] == 'manila-share'
        ] == ['up']

    def available(self, share_id):
        self.parts.wait(f'/shares/{share_id}', 'share', 'available')

    def assert_one_call_for_each_of(self, count):
        """Create shares; check that one of the two managers creates each of them, with one call."""
        before = self.parts.calls('create_share')
        for resource_id in [self.parts.share() for _ in range(count)]:
            self.available(resource_id)
        self.assertEqual(before + count, self.parts.calls('create_share'))


class Takeover(TakeoverTest):
    """A lease that a slow machine does not lose. The second manager looks for it after a third of its time."""

    LEASE = 30

    def test_only_one_of_two_managers_works(self):
        self.assert_one_call_for_each_of(10)
        self.assertEqual(1, self.parts.calls('setup'))

    def test_second_manager_takes_over_after_a_kill(self):
        """Finish the work of a manager that was killed on the same host, without waiting for its lease."""
        self.parts.knobs('create_share:hang')
        share_id = self.parts.share()
        self.parts.until(lambda: self.parts.calls('create_share'), 'the backend is at work')
        self.signal_all(self.first, signal.SIGKILL)
        self.parts.knobs()
        self.available(share_id)
        self.said(_TAKES_OVER)
        self.assertEqual(2, self.parts.calls('setup'))
        self.assertTrue(self.is_up())
        self.assert_one_call_for_each_of(3)

    def test_second_manager_takes_over_after_an_orderly_end(self):
        """Take over from a manager that ends in order; show the service as down when the second ends, too."""
        self.first.terminate()
        self.assertEqual(0, self.first.wait(timeout=waiting.LIMIT), self.parts.tail())
        self.said(_TAKES_OVER)
        self.parts.until(self.is_up, 'the service is up')
        self.assert_one_call_for_each_of(3)
        self.second.terminate()
        self.assertEqual(0, self.second.wait(timeout=waiting.LIMIT), self.parts.tail())
        self.assertFalse(self.is_up())

    def test_end_of_the_waiting_manager_changes_nothing(self):
        self.second.terminate()
        self.assertEqual(0, self.second.wait(timeout=waiting.LIMIT), self.parts.tail())
        self.assertTrue(self.is_up())
        self.assert_one_call_for_each_of(3)


class Paused(TakeoverTest):
    """A lease that is soon over."""

    LEASE = 6

    def test_manager_paused_longer_than_its_lease_stops_its_work(self):
        """Stop a manager at work for longer than its lease: when it goes on, it writes nothing and stands back."""
        self.parts.knobs('create_share:hang')
        share_id = self.parts.share()
        self.parts.until(lambda: self.parts.calls('create_share'), 'the backend is at work')
        self.signal_all(self.first, signal.SIGSTOP)
        self.said(_TAKES_OVER)
        self.parts.knobs()
        self.available(share_id)
        self.signal_all(self.first, signal.SIGCONT)
        self.said(_STANDS_BACK)
        self.said('is no longer ours')
        self.assertEqual('available', self.parts.ok('GET', f'/shares/{share_id}')['share']['status'])
        self.assertEqual(2, self.parts.calls('create_share'))
        self.assert_one_call_for_each_of(10)
        self.assertEqual(2, self.parts.calls('setup'))
        self.signal_all(self.second, signal.SIGKILL)
        self.said(_TAKES_OVER, times=2)
        self.assert_one_call_for_each_of(3)
        self.assertEqual(3, self.parts.calls('setup'))
