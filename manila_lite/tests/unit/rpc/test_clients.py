# SPDX-License-Identifier: Apache-2.0

import logging
import os
import queue
import socket
import threading
import time

import fixtures

from manila_lite.rpc import clients, endpoint, server
from manila_lite.tests import waiting
from manila_lite.tests.unit.rpc import base


def closed_port():
    with socket.create_server(('127.0.0.1', 0)) as listener:
        return listener.getsockname()[1]


class TestBus(base.BusTestCase):
    def setUp(self):
        super().setUp()
        self.got = queue.SimpleQueue()
        self.bus = clients.Bus(self.conf)
        self.addCleanup(self.bus.close, waiting.LIMIT)

    def listen(self, topic='manila-share', host='h@one', on_wake=None):
        receiver = server.Server(self.conf, topic, host, [endpoint.Operations(on_wake or self.got.put)])
        self.assertTrue(receiver.start(waiting.LIMIT))
        self.addCleanup(receiver.stop, waiting.LIMIT)
        return receiver

    def test_a_wake_up_arrives_with_its_lane(self):
        self.listen()
        self.bus.wake('share', 'h@one', 'lane-1')
        self.assertEqual(['lane-1'], self.got.get(timeout=waiting.LIMIT))

    def test_wake_up_without_a_host_reaches_a_server_of_the_topic(self):
        self.listen('manila-scheduler', 'a')
        self.bus.wake('scheduler', None, 'lane-1')
        self.assertEqual(['lane-1'], self.got.get(timeout=waiting.LIMIT))

    def test_unknown_kind_of_service_raises_keyerror(self):
        self.assertRaises(KeyError, self.bus.wake, 'shares', None, 'lane-1')

    def test_repeated_wake_ups_are_delayed_for_their_receiver_only(self):
        self.useFixture(fixtures.MonkeyPatch('manila_lite.rpc.clients.PAUSES', 1e9))
        self.useFixture(fixtures.MonkeyPatch('manila_lite.rpc.clients.LONGEST_PAUSE', waiting.LIMIT))
        for host in ('h@one', 'h@two'):
            self.listen(host=host)
            self.bus.wake('share', host, f'{host}-1')
            self.assertEqual([f'{host}-1'], self.got.get(timeout=waiting.LIMIT))
        for number in (2, 3):
            self.bus.wake('share', 'h@one', f'h@one-{number}')
        self.assertRaises(queue.Empty, self.got.get, timeout=0.1)
        self.bus.close(waiting.LIMIT)  # sends all that is queued, and does not wait
        self.assertEqual(['h@one-2', 'h@one-3'], self.got.get(timeout=waiting.LIMIT))

    def test_queued_wake_ups_are_merged_into_one(self):
        self.hold_the_sender()
        for number in (3, 1, 2, 1):
            self.bus.wake('share', 'h@one', f'lane-{number}')
        self.release.set()
        self.assertEqual(['lane-1', 'lane-2', 'lane-3'], self.got.get(timeout=waiting.LIMIT))
        self.bus.close(waiting.LIMIT)
        self.assertTrue(self.got.empty())

    def hold_the_sender(self):
        """Stop the background thread inside a send until ``release`` is set."""
        self.release, inside = threading.Event(), threading.Event()
        real = self.bus._send

        def held(receiver, lanes):
            inside.set()
            self.release.wait(waiting.LIMIT)
            real(receiver, lanes)

        self.bus._send = held
        self.listen()
        self.bus.wake('scheduler', 'nobody', 'work')
        self.assertTrue(inside.wait(waiting.LIMIT))

    def test_close_sends_queued_wake_ups_and_later_ones_are_dropped(self):
        self.listen()
        self.bus.wake('share', 'h@one', 'lane-1')
        self.assertTrue(self.bus.close(waiting.LIMIT))
        self.bus.wake('share', 'h@one', 'lane-2')
        self.assertEqual(['lane-1'], self.got.get(timeout=waiting.LIMIT))
        self.assertTrue(self.got.empty())

    def test_close_of_an_unused_bus_succeeds(self):
        self.assertTrue(clients.Bus(self.conf).close(0))

    def test_failure_in_a_receiver_is_logged_and_wake_ups_continue(self):
        def fail(lanes):
            self.got.put(lanes)
            raise ValueError(lanes)

        log = self.useFixture(fixtures.FakeLogger(level=40))
        receiver = self.listen(on_wake=fail)
        for lane in ('lane-1', 'lane-2'):
            self.bus.wake('share', 'h@one', lane)
            self.assertEqual([lane], self.got.get(timeout=waiting.LIMIT))
        receiver.stop(waiting.LIMIT)  # the received message is done, its log line included
        self.assertIn('A wake-up failed', log.output)

    def test_wake_up_is_delivered_within_10_milliseconds(self):
        self.listen()
        times = []
        for number in range(50):
            begin = time.perf_counter()
            self.bus.wake('share', 'h@one', str(number))
            self.got.get(timeout=waiting.LIMIT)
            times.append(time.perf_counter() - begin)
        # A transport that polls needs 25 to 50 ms each time; one that does not may have to wait for a processor.
        self.assertLess(sorted(times)[5], 0.01)

    def test_child_process_sends_from_its_own_thread(self):
        self.listen()
        self.bus.wake('share', 'h@one', 'lane-1')
        self.got.get(timeout=waiting.LIMIT)
        child = os.fork()
        if child == 0:
            self.got = queue.SimpleQueue()
            self.listen()
            self.bus.wake('share', 'h@one', 'lane-2')
            os._exit(7 if self.got.get(timeout=waiting.LIMIT) == ['lane-2'] else 1)
        self.assertEqual(7, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


class TestDeadBroker(base.BusTestCase):
    def setUp(self):
        super().setUp()
        self.use_url(f'rabbit://guest:guest@127.0.0.1:{closed_port()}/')

    def test_wake_ups_return_at_once_and_one_warning_is_logged(self):
        log = self.useFixture(fixtures.FakeLogger(level=30))
        bus = clients.Bus(self.conf)
        begin = time.monotonic()
        for _ in range(1000):
            bus.wake('share', 'h@one', 'lane-1')
        self.assertLess(time.monotonic() - begin, waiting.LIMIT / 10)  # a thousand waits take longer
        for _ in range(2):
            bus.wake('share', 'h@one', 'lane-2')
            time.sleep(0.3)  # sleeps: a second complaint, which must not come, has time to
        self.assertTrue(bus.close(waiting.LIMIT))
        self.assertEqual(1, log.output.count('Wake-ups are dropped'))

    def test_server_starts_and_stops_without_its_broker(self):
        child = os.fork()  # it tries to connect for as long as its process lives
        if child == 0:
            logging.disable()
            receiver = server.Server(self.conf, 'manila-share', 'h@one', [endpoint.Operations(print)])
            answered = receiver.start(patience=0.2)
            begin = time.monotonic()
            stopped = receiver.stop(waiting.LIMIT)
            os._exit(7 if not answered and stopped and time.monotonic() - begin < waiting.LIMIT / 10 else 1)
        self.assertEqual(7, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
