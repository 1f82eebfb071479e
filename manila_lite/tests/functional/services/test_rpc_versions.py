# SPDX-License-Identifier: Apache-2.0
"""Releases side by side: recorded messages of earlier releases, and the messages that this one sends and understands.

``rpc_messages/<version>/`` holds a file per message: the calls of ``Bus.wake`` that made it, its target, and the
message that the transport got. Files of a released version are never changed.
"""

import itertools
import json
import pathlib
import queue

import fixtures
import oslo_messaging
import testscenarios

from manila_lite.conf import rpc as options
from manila_lite.rpc import clients, endpoint, server, transport
from manila_lite.tests import waiting
from manila_lite.tests.unit.rpc import base

RECORDED = pathlib.Path(__file__).parents[1] / 'rpc_messages'


def recorded(version):
    """Return the recorded messages of a version by name."""
    return {path.stem: json.loads(path.read_text()) for path in sorted((RECORDED / version).glob('*.json'))}


class Versions(base.BusTestCase):
    """Helpers to send and to receive messages."""

    def setUp(self):
        super().setUp()
        self.log = self.useFixture(fixtures.FakeLogger(level=30))
        self.got = queue.SimpleQueue()

    def serve(self, topic='manila-share', host='host@backend'):
        running = server.Server(self.conf, topic, host, [endpoint.Operations(self.got.put)])
        self.assertTrue(running.start())
        self.addCleanup(running.stop, 5)
        return running

    def send(self, message, *, topic='manila-share', host='host@backend'):
        """Send a message unchanged through the transport."""
        target = oslo_messaging.Target(topic=topic, server=host)
        return transport.get_transport(self.conf)._send(target, {}, message)

    def received(self):
        return self.got.get(timeout=waiting.LIMIT)


class Recorded(testscenarios.WithScenarios, Versions):
    """Each recorded message, sent again and produced again."""

    scenarios = [
        (f'{version}-{name}', {'version': version, 'record': record})
        for version in endpoint.SHAPES
        for name, record in recorded(version).items()
    ]

    def test_recorded_message_is_understood(self):
        self.serve(self.record['topic'], self.record['server'] or 'any')
        self.send(self.record['message'], topic=self.record['topic'], host=self.record['server'])
        self.assertEqual(self.record['message']['args'].get('lanes', []), self.received())
        self.assertEqual('', self.log.output)


class Sent(testscenarios.WithScenarios, Versions):
    """The recorded messages that are sent still: those of lanes. They name no operation any more, which means all."""

    scenarios = [
        (name, values)
        for name, values in Recorded.scenarios
        if all(lane for *_, lane in values['record']['sends'])
    ]

    def test_pinned_sender_sends_the_recorded_message(self):
        self.conf.set_override('operations', self.version, 'upgrade_levels')
        self.addCleanup(self.conf.clear_override, 'operations', 'upgrade_levels')
        target = oslo_messaging.Target(topic=self.record['topic'], server=self.record['server'] or 'any')
        listener = transport.get_transport(self.conf)._listen(target, 1, None)
        listener.start(lambda incoming: self.got.put(incoming[0]))
        self.addCleanup(listener.stop)
        bus = clients.Bus(self.conf)
        with bus._changed:  # so that they become one message
            for topic, host, _, lane in self.record['sends']:
                bus.wake(topic, host, lane)
        self.assertTrue(bus.close(10))
        message, said = self.received(), self.record['message']
        expected = said | {'args': said['args'] | {'operation_ids': []}}
        self.assertEqual((self.record['context'], expected), (message.ctxt, message.message))


class Pins(Versions):
    """Versions in the option ``upgrade_levels`` and in the table of shapes, which are the same."""

    def test_every_version_has_its_pin_and_its_records(self):
        option = next(option for option in options.UPGRADE_LEVELS if option.name == 'operations')
        self.assertEqual({'auto', *endpoint.SHAPES}, set(option.type.choices))
        self.assertEqual(set(endpoint.SHAPES), {path.name for path in RECORDED.iterdir()})
        self.assertEqual(list(endpoint.SHAPES)[-1], endpoint.VERSION)

    def test_minor_version_only_adds_arguments(self):
        shapes = list(endpoint.SHAPES.values())
        for older, newer in itertools.pairwise(shapes):
            self.assertEqual(older, newer[: len(older)])

    def test_without_a_pin_the_newest_is_sent(self):
        self.serve()
        bus = clients.Bus(self.conf)
        bus.wake('share', 'host@backend', 'fast')
        self.assertEqual(['fast'], self.received())
        bus.close(5)


class Newer(Versions):
    """Messages of a later release: nothing breaks, and each kind of unknown message or argument is logged once."""

    def wake(self, version, **args):
        return {'method': 'wake', 'namespace': 'operations', 'version': version, 'args': args}

    def works_still(self):
        self.send(self.wake('1.1', operation_ids=[], lanes=['last']))
        self.assertEqual(['last'], self.received())

    def test_arguments_of_a_later_minor_version_are_ignored(self):
        self.serve()
        for number in range(3):
            self.send(self.wake('1.7', operation_ids=[], lanes=[str(number)], urgency=9))
            self.assertEqual([str(number)], self.received())
        self.works_still()
        self.assertEqual(1, self.log.output.count('urgency'))
        self.assertEqual(1, len(self.log.output.splitlines()), self.log.output)

    def test_message_of_another_major_version_is_dropped(self):
        running = self.serve()
        for _ in range(3):
            self.send(self.wake('2.0', work={'everything': True}))
        self.works_still()
        running.stop(waiting.LIMIT)
        self.assertTrue(self.got.empty())
        self.assertIn('version 2.0', self.log.output)
        self.assertEqual(1, len(self.log.output.splitlines()), self.log.output)

    def test_message_of_an_unknown_method_is_dropped(self):
        running = self.serve()
        for _ in range(3):
            self.send({'method': 'sleep', 'namespace': 'operations', 'version': '1.5', 'args': {}})
        self.works_still()
        running.stop(waiting.LIMIT)
        self.assertEqual(1, len(self.log.output.splitlines()), self.log.output)
