# SPDX-License-Identifier: Apache-2.0
"""Token buckets: how many tokens they give, and when."""

import threading

import fixtures
import testtools

from manila_lite import errors
from manila_lite.api.http import token_buckets


class Clock:
    """A clock that stands still until a test moves it on."""

    now = 1000.0

    def time(self):
        return self.now

    monotonic = time


class Buckets(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.clock = Clock()
        self.useFixture(fixtures.MonkeyPatch('manila_lite.api.http.token_buckets.time', self.clock))
        self.local = token_buckets.LocalBuckets(1000)

    def took(self, rate, times, key='a'):
        """Return how many of ``times`` attempts took a token."""
        return sum(not self.local.take(key, rate) for _ in range(times))

    def test_tokens_are_limited_by_burst_and_rate(self):
        rate = token_buckets.RateLimit(2.0, 10)
        self.assertEqual(10, self.took(rate, 50))
        for seconds, tokens in ((0.25, 0), (0.25, 1), (0.5, 1), (2.0, 4), (1e6, 10)):
            self.clock.now += seconds
            self.assertEqual(tokens, self.took(rate, 50), seconds)

    def test_refusal_returns_the_time_until_the_next_token(self):
        rate = token_buckets.RateLimit(0.1, 1)
        self.assertEqual(0.0, self.local.take('a', rate))
        self.assertAlmostEqual(10.0, self.local.take('a', rate), 3)
        self.clock.now += 4
        self.assertAlmostEqual(6.0, self.local.take('a', rate), 3)
        self.clock.now += 6.01
        self.assertEqual(0.0, self.local.take('a', rate))

    def test_refused_attempts_do_not_lengthen_the_wait(self):
        rate = token_buckets.RateLimit(1.0, 1)
        self.took(rate, 1000)
        self.clock.now += 1.01
        self.assertEqual(1, self.took(rate, 1000))

    def test_floating_point_errors_cost_no_token(self):
        """Errors of floating-point sums cost no client a token."""
        for now in (0.1, 12345.678, 1795370000.123456):
            for a_second, burst in ((50.0, 1), (0.3, 7), (7.7, 100), (1000.0, 30)):
                self.clock.now, self.local = now, token_buckets.LocalBuckets(10)
                self.assertEqual(
                    burst, self.took(token_buckets.RateLimit(a_second, burst), 2 * burst), (now, a_second)
                )

    def test_each_client_has_its_own_tokens(self):
        rate = token_buckets.RateLimit(1.0, 5)
        self.assertEqual([5, 5], [self.took(rate, 9, key) for key in 'ab'])

    def test_changed_rate_gives_tokens_at_once(self):
        """A client that was refused for an hour gets tokens at once after the rate is corrected."""
        self.took(token_buckets.RateLimit(0.001, 100), 100)
        self.clock.now += 1
        self.assertEqual(10, self.took(token_buckets.RateLimit(10.0, 10), 100))

    def test_memory_is_bounded(self):
        rate = token_buckets.RateLimit(1.0, 1)
        for number in range(5000):
            self.local.take(str(number), rate)
        self.assertEqual(1000, len(self.local._full))
        self.assertEqual((1, 0), (self.took(rate, 1, '1'), self.took(rate, 1, '4999')))

    def test_malformed_stored_values_give_a_token(self):
        """Values in memcached may be of any form."""
        for text in (None, b'', b'nonsense', b'nan', b'-inf', b'-5', b'1_0', b'\xff', b'inf', b'1e300'):
            self.assertEqual(
                (1001.0, 0.0), token_buckets.RateLimit(1.0, 1).take(token_buckets._moment(text), 1000.0), text
            )

    def test_small_clock_difference_gains_nothing_and_a_large_one_is_ignored(self):
        """A client gains nothing by a small difference of clocks; a time far in the future is ignored."""
        rate = token_buckets.RateLimit(1.0, 1)
        self.assertEqual([3.0, 0.0], [rate.take(full, 1000.0)[1] for full in (1003.0, 1100.0)])


class Threads(testtools.TestCase):
    def test_no_token_is_taken_twice(self):
        local, rate, took = token_buckets.LocalBuckets(10), token_buckets.RateLimit(0.001, 100), []
        threads = [
            threading.Thread(target=lambda: took.extend(not local.take('a', rate) for _ in range(100)))
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(100, sum(took))


class Shared(testtools.TestCase):
    def test_invalid_server_address_is_refused(self):
        for address in ('cache:port', 'a:1:b:2:c'):
            refused = self.assertRaises(
                errors.BadConfig, token_buckets.SharedBuckets, [address], 0.1, token_buckets.LocalBuckets(1)
            )
            self.assertIn(address, str(refused))

    def test_nobody_listens(self):
        """The process counts by itself without memcached: one log line, and no wait at each request."""
        log = self.useFixture(fixtures.FakeLogger())
        self.useFixture(fixtures.MonkeyPatch('manila_lite.api.http.token_buckets.time', Clock()))
        asked, ask = [], token_buckets._Server._exchange
        self.patch(token_buckets._Server, '_exchange', lambda *words: asked.append(words) or ask(*words))
        shared = token_buckets.SharedBuckets(['127.0.0.1:9'], 0.1, token_buckets.LocalBuckets(10))
        rate = token_buckets.RateLimit(0.001, 5)
        self.assertEqual(5, sum(not shared.take('a', rate) for _ in range(100)))
        self.assertEqual((1, 1), (len(asked), log.output.count('cannot be used')))
