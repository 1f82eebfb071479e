# SPDX-License-Identifier: Apache-2.0

import threading

import fixtures
import testtools

from manila_lite.api.http.probes import Probe

_AWAY = 'it is away'
#: Seconds: longer than any test.
_LONG = 600.0


class TestLook(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.log = self.useFixture(fixtures.FakeLogger())
        self.asked = 0
        self.word = None

    def ask(self):
        self.asked += 1
        return self.word

    def test_answer_holds_for_its_time(self):
        for holds, times in ((_LONG, 1), (0.0, 3)):
            self.asked = 0
            look = Probe(self.ask, _AWAY, holds)
            for _ in range(3):
                look.begin()
                self.assertIsNone(look.end(_LONG))
            self.assertEqual(times, self.asked)

    def test_failure_holds_for_another_time(self):
        self.word = 'it refuses'
        look = Probe(self.ask, _AWAY, _LONG, 0.0)
        self.assertTrue(look.begin())
        self.assertEqual('it refuses', look.end(_LONG))
        self.word = None
        self.assertTrue(look.begin())
        self.assertIsNone(look.end(_LONG))
        self.assertFalse(look.begin())

    def test_one_caller_waits_for_a_service_that_is_away(self):
        """Others get the answer of before; the first of all has none, so that all wait for it."""
        go_on = threading.Event()
        self.addCleanup(go_on.set)
        look = Probe(go_on.wait, _AWAY, 0.0, 0.0)
        self.assertEqual([True, True], [look.begin(), look.begin()])
        self.assertEqual(_AWAY, look.end(0.01))
        go_on.set()
        self.assertIs(True, look.end(_LONG))
        go_on.clear()
        self.assertEqual([True, False], [look.begin(), look.begin()])
        self.assertEqual((True, _AWAY), (look.known, look.end(0.01)))

    def test_unexpected_error_counts_as_away(self):
        look = Probe(lambda: 1 / 0, _AWAY, 0.0)
        look.begin()
        self.assertEqual(_AWAY, look.end(_LONG))
        self.assertIn('ZeroDivisionError', self.log.output)
