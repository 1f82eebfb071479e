# SPDX-License-Identifier: Apache-2.0

import types

import fixtures
import testtools

from manila_lite.api.http.token_memory import TokenMemory


class Remembered(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.now = 1000.0
        self.shift = 1e9  # between the clocks
        clocks = types.SimpleNamespace(monotonic=lambda: self.now, time=lambda: self.now + self.shift)
        self.useFixture(fixtures.MonkeyPatch('manila_lite.api.http.token_memory.time', clocks))

    def memory(self, tokens, *, seconds=5.0, most=10, lives=3600.0):
        """Return a memory that got these tokens, which expire in ``lives`` seconds."""
        memory = TokenMemory(seconds, most)
        for token in tokens:
            memory.remember(token, {'HTTP_X_USER_ID': token}, self.now + self.shift + lives)
        return memory

    def test_each_token_has_its_own_headers(self):
        memory = self.memory(['a', 'b', 'ü\udce4'])
        for token in ('a', 'b', 'ü\udce4'):
            self.assertEqual({'HTTP_X_USER_ID': token}, memory.find(token))
        for token in ('', 'A', 'aa', 'c'):
            self.assertIsNone(memory.find(token))

    def test_token_is_forgotten_in_time(self):
        memory = self.memory(['a'])
        self.now += 4.9
        self.assertIsNotNone(memory.find('a'))
        self.now += 0.2
        self.assertIsNone(memory.find('a'))

    def test_use_does_not_prolong_the_time(self):
        memory = self.memory(['a'])
        for _ in range(6):
            memory.find('a')
            self.now += 1
        self.assertIsNone(memory.find('a'))

    def test_token_ends_when_it_expires(self):
        memory = self.memory(['a'], lives=2.0)
        self.now += 1.9
        self.assertIsNotNone(memory.find('a'))
        self.now += 0.2
        self.assertIsNone(memory.find('a'))

    def test_clock_that_is_set_forward_ends_tokens(self):
        memory = self.memory(['a'], lives=60.0)
        self.shift += 61
        self.assertIsNone(memory.find('a'))

    def test_nothing_is_remembered_for_no_time(self):
        self.assertIsNone(self.memory(['a'], seconds=0.0).find('a'))

    def test_oldest_token_makes_room(self):
        memory = self.memory(['a', 'b', 'c', 'a', 'd'], most=3)
        self.assertEqual([True, False, True, True], [memory.find(token) is not None for token in 'abcd'])

    def test_tokens_themselves_are_not_kept(self):
        memory = self.memory(['a secret'])
        self.assertNotIn('a secret', repr(list(memory._known)))
        self.assertNotEqual(list(memory._known), list(self.memory(['a secret'])._known))
