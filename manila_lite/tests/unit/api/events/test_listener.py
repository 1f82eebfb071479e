# SPDX-License-Identifier: Apache-2.0

import types

import fixtures
import orjson
import testtools

from manila_lite.api.events.batches import Batch
from manila_lite.api.events.listener import KEEP_ALIVE, Listener

_NOTHING = Batch([], 'a', 'b')
_TWO = Batch([('status', b'{"n":1}'), ('status', b'{"n":2}')], 'before', 'after')


class Listeners(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.now, self.left, self.told = 1000.0, [], []
        self.useFixture(
            fixtures.MonkeyPatch(
                'manila_lite.api.events.listener.time', types.SimpleNamespace(monotonic=lambda: self.now)
            )
        )

    def listener(self, *, stream=True, once=False, seconds=100.0):
        listener = Listener(
            None,
            None,
            given=False,
            stream=stream,
            once=once,
            until=self.now + seconds,
            buffer=100,
            leave=self.left.append,
        )
        listener.tell = lambda: self.told.append(listener)
        return listener

    def test_stream_begins_with_its_position_and_each_event_has_the_one_from_which_nothing_is_lost(self):
        listener = self.listener()
        listener.welcome(_NOTHING, 'first')
        text, ends = listener.take()
        self.assertRegex(text, rb'\Aretry: [1-5]\d\d\d\nid: first\n\n\Z')
        self.assertFalse(ends)
        listener.put(_TWO, 'after')
        self.assertEqual(
            (
                b'id: before\nevent: status\ndata: {"n":1}\n\nid: after\nevent: status\ndata: {"n":2}\n\n',
                False,
            ),
            listener.take(),
        )
        self.assertEqual([listener, listener], self.told)
        self.assertEqual((b'', False), listener.take())

    def test_sign_of_life_has_the_present_position(self):
        listener = self.listener()
        listener.welcome(_NOTHING, 'first')
        listener.take()
        listener.put(_NOTHING, 'now')
        self.assertFalse(listener.beat(self.now + KEEP_ALIVE - 0.1))
        self.now += KEEP_ALIVE
        self.assertTrue(listener.beat(self.now))
        self.assertEqual((b': keep-alive\nid: now\n\n', False), listener.take())
        self.assertFalse(listener.beat(self.now + 1))
        self.assertEqual(1, len(self.told), 'told of a position without an event')

    def test_stream_ends_at_its_time(self):
        listener = self.listener()
        listener.welcome(_NOTHING, 'first')
        listener.take()
        self.assertTrue(listener.beat(self.now + 100))
        self.assertEqual((b'', True), listener.take())
        listener.put(_TWO, 'after')
        self.assertEqual((b'', True), listener.take())

    def test_document_comes_with_the_first_events(self):
        listener = self.listener(stream=False)
        listener.welcome(_NOTHING, 'first')
        self.assertEqual((b'', False), listener.take())
        listener.put(_TWO, 'after')
        listener.put(_TWO, 'more')
        text, ends = listener.take()
        self.assertTrue(ends)
        self.assertEqual(
            {
                'events': [
                    {'id': 'before', 'event': 'status', 'data': {'n': 1}},
                    {'id': 'after', 'event': 'status', 'data': {'n': 2}},
                ],
                'last_event_id': 'after',
            },
            orjson.loads(text),
        )

    def test_document_without_events_has_the_present_position(self):
        listener = self.listener(stream=False, seconds=0.0)
        self.assertFalse(listener.beat(self.now), 'it ends before the first look')
        listener.welcome(_NOTHING, 'first')
        text, ends = listener.take()
        self.assertEqual(({'events': [], 'last_event_id': 'first'}, True), (orjson.loads(text), ends))

    def test_client_that_does_not_wait_is_answered_even_if_there_is_no_look(self):
        listener = self.listener(stream=False, seconds=0.0)
        self.assertTrue(listener.beat(self.now + 10))
        text, ends = listener.take()
        self.assertEqual(({'events': [], 'last_event_id': ''}, True), (orjson.loads(text), ends))

    def test_closed_one_leaves_once(self):
        listener = self.listener()
        listener.close()
        listener.close()
        self.assertEqual([listener], self.left)
        listener.put(_TWO, 'after')
        self.assertEqual([], self.told)
        self.assertEqual((b'', True), listener.take())
