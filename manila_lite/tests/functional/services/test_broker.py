# SPDX-License-Identifier: Apache-2.0
"""Broker that stops, returns or hangs: requests are still accepted and executed."""

import threading

import testtools

from manila_lite.rpc import notifications
from manila_lite.tests import fixtures, waiting
from manila_lite.tests.functional import base
from manila_lite.tests.services import broker, daemon, hearing, places

#: Poll intervals in seconds: one that finds work soon, and one that no test waits for.
SOON, NEVER = 0.2, 3600.0

#: Keeps a silent broker's connection for the length of a test.
_EXTRA = """
[oslo_messaging_rabbit]
heartbeat_timeout_threshold = 600
"""


class Broker(testtools.TestCase):
    """A RabbitMQ of the test class, which every test leaves running."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.broker = broker.RabbitMQ()
        try:
            cls.broker.need()
        except daemon.Missing as missing:
            raise cls.skipException(str(missing)) from None
        cls.broker.setUp()
        cls.addClassCleanup(cls.broker.cleanUp)

    def serve(self, extra=''):
        bus = self.useFixture(places.EmptyBus(self.broker.url, self.broker.admin_url))
        self.vhost = bus.url.rpartition('/')[2]
        self.service = self.useFixture(fixtures.Service(extra=extra, bus=bus.url))
        self.api = base.Api(self.service.app)

    def poll(self, seconds):
        """Set the poll interval, within which lost wake-ups are made up for."""
        self.service.conf.set_override('poll_interval', seconds, 'operations')
        for part in (self.service.scheduler, *self.service.managers.values()):
            part.worker.runner.wake()

    def create(self):
        return self.api.share(wait=None)['id']

    def available(self, share):
        self.api.wait(f'/shares/{share}', 'share', 'available')

    def wake_ups_arrive(self):
        """Wait until a share is created without polling. A wake-up that is sent before all have reconnected may be lost."""
        self.poll(NEVER)
        made = []

        def arrived():
            found = [self.api.ok('GET', f'/shares/{share}')['share']['status'] for share in made]
            made.append(self.create())
            return 'available' in found

        waiting.until(arrived, 'a wake-up arrives', pause=1)

    def test_wake_ups_travel_in_quorum_queues(self):
        self.serve()
        self.poll(NEVER)
        self.available(self.create())
        queues = broker.order(self.broker.admin_url, 'GET', f'queues/{self.vhost}')
        kinds = {queue['name']: queue['arguments'].get('x-queue-type') for queue in queues}
        self.assertLessEqual({'manila-scheduler', 'manila-share', 'manila-share.test@alpha'}, kinds.keys())
        self.assertEqual({'quorum'}, set(kinds.values()), kinds)

    def test_requests_are_executed_while_the_broker_is_stopped_and_after(self):
        self.serve('[oslo_messaging_notifications]\ndriver = messagingv2\n')
        self.poll(SOON)
        self.broker.stop()
        try:
            self.available(self.create())
            notifications.emit(self.service.services, 'broker.gone', {'id': 'meanwhile'})
        finally:
            self.broker.start()
        self.wake_ups_arrive()
        self.useFixture(hearing.Heard(self.service.conf, url=None)).wait('broker.gone', id='meanwhile')

    def test_requests_are_executed_while_the_broker_hangs_and_after(self):
        self.serve(_EXTRA)
        self.available(self.create())  # so that everything is connected
        self.poll(SOON)
        self.broker.pause()
        try:
            self.answered(self.create)
            self.available(self.create())
            self.answered(self.service.stop)
        finally:
            self.broker.go_on()
        self.service.start()
        self.wake_ups_arrive()

    def answered(self, call):
        """Check that the call returns while the broker is silent."""
        thread = threading.Thread(target=call, daemon=True)
        thread.start()
        thread.join(waiting.LIMIT)
        self.assertFalse(thread.is_alive(), f'{call.__name__} waits for the broker')
