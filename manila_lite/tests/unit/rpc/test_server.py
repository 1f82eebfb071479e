# SPDX-License-Identifier: Apache-2.0

import threading
import time

import fixtures

from manila_lite.rpc import clients, endpoint, server
from manila_lite.tests import waiting
from manila_lite.tests.unit.rpc import base


class TestServer(base.BusTestCase):
    def setUp(self):
        super().setUp()
        self.log = self.useFixture(fixtures.FakeLogger(level=30))
        self.inside, self.go_on, self.done = threading.Event(), threading.Event(), threading.Event()
        self.addCleanup(self.go_on.set)

    def work(self, lanes):
        self.inside.set()
        self.go_on.wait(waiting.LIMIT)
        self.done.set()

    def busy(self):
        receiver = server.Server(self.conf, 'manila-share', 'h', [endpoint.Operations(self.work)])
        receiver.start(waiting.LIMIT)
        bus = clients.Bus(self.conf)
        bus.wake('share', 'h', 'work')
        self.assertTrue(self.inside.wait(waiting.LIMIT))
        bus.close(waiting.LIMIT)
        return receiver

    def test_stop_waits_for_running_work(self):
        receiver = self.busy()
        threading.Timer(0.2, self.go_on.set).start()
        self.assertTrue(receiver.stop(waiting.LIMIT))
        self.assertTrue(self.done.is_set())

    def test_stop_returns_false_if_work_outlasts_its_timeout(self):
        receiver = self.busy()
        self.assertFalse(receiver.stop(0.1))
        self.assertFalse(self.done.is_set())
        self.assertIn('still at work', self.log.output)

    def test_stop_succeeds_twice_and_without_start(self):
        receiver = server.Server(self.conf, 'manila-share', 'h', [])
        self.assertTrue(receiver.stop(waiting.LIMIT))
        receiver.start(waiting.LIMIT)
        self.assertEqual([True, True], [receiver.stop(waiting.LIMIT), receiver.stop(waiting.LIMIT)])

    def test_an_idle_server_stops_at_once(self):
        receiver = server.Server(
            self.conf, 'manila-share', 'h', [endpoint.Operations(lambda _lanes: self.inside.set())]
        )
        receiver.start(waiting.LIMIT)
        bus = clients.Bus(self.conf)
        bus.wake('share', 'h', 'work')
        bus.close(waiting.LIMIT)
        self.assertTrue(self.inside.wait(waiting.LIMIT))
        begin = time.monotonic()
        receiver.stop(waiting.LIMIT)
        self.assertLess(time.monotonic() - begin, waiting.LIMIT / 2)
