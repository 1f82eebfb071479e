# SPDX-License-Identifier: Apache-2.0

import os
import time

import fixtures

from manila_lite import context
from manila_lite.rpc import clients, notifications
from manila_lite.tests import waiting
from manila_lite.tests.services import hearing
from manila_lite.tests.unit.rpc import base
from manila_lite.tests.unit.rpc.test_clients import closed_port

_GROUP = 'oslo_messaging_notifications'


class TestNotices(base.BusTestCase):
    def setUp(self):
        super().setUp()
        self.services = context.Services(conf=self.conf, bus=clients.Bus(self.conf))
        self.addCleanup(self.services.bus.close, waiting.LIMIT)

    def ctx(self):
        return context.RequestContext(
            user_id='u',
            project_id='p',
            request_id='req-1',
            services=self.services,
            auth_token='hush',
            overwrite=False,
        )

    def test_notification_arrives_with_ids_but_without_the_token(self):
        heard = self.useFixture(hearing.Heard(self.conf))
        notifications.emit(self.ctx(), 'thing.start', {'id': 'a'}, host='h@b')
        got = heard.wait('thing.start', id='a')
        self.assertEqual(('INFO', 'share.h@b'), (got['priority'], got['publisher']))
        self.assertEqual({'id': 'a', 'request_id': 'req-1', 'project_id': 'p'}, got['payload'])
        self.assertNotIn('hush', str(heard.events))

    def test_error_from_the_api_has_its_priority_and_no_password(self):
        heard = self.useFixture(hearing.Heard(self.conf))
        notifications.emit(self.services, 'thing.error', {'id': 'b', 'admin_password': 'hush'})
        got = heard.wait('thing.error', id='b')
        self.assertEqual(('ERROR', f'api.{self.conf.host}'), (got['priority'], got['publisher']))
        self.assertNotIn('hush', str(got))

    def test_nothing_is_sent_by_default(self):
        notifications.emit(self.ctx(), 'thing.start', {'id': 'a'})
        self.assertIsNone(self.services.bus.notifications._thread)

    def test_drain_sends_queued_notifications_in_order(self):
        heard = self.useFixture(hearing.Heard(self.conf))
        for number in range(50):
            notifications.emit(self.ctx(), 'thing.start', {'id': 'c', 'number': number})
        notifications.drain(waiting.LIMIT)
        heard.wait('thing.start', id='c', number=49)
        self.assertEqual(list(range(50)), [event['payload']['number'] for event in heard.of(id='c')])

    def test_child_process_starts_its_own_thread(self):
        self.useFixture(hearing.Heard(self.conf))
        notifications.emit(self.ctx(), 'thing.start', {'id': 'd'})
        child = os.fork()
        if child == 0:
            notifications.emit(self.ctx(), 'thing.start', {'id': 'e'})
            os._exit(7 if self.services.bus.notifications._thread.is_alive() else 1)
        self.assertEqual(7, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

    def test_dead_broker_and_full_queue_do_not_delay_callers(self):
        self.useFixture(fixtures.MonkeyPatch('manila_lite.rpc.notifications.BACKLOG', 10))
        log = self.useFixture(fixtures.FakeLogger(level=30))
        self.conf.set_override('driver', ['messagingv2'], _GROUP)
        self.addCleanup(self.conf.clear_override, 'driver', _GROUP)
        self.use_url(f'rabbit://guest:guest@127.0.0.1:{closed_port()}/')
        child = os.fork()  # it tries to connect for as long as its process lives
        if child == 0:
            services = context.Services(conf=self.conf, bus=clients.Bus(self.conf))
            began = time.monotonic()
            for _ in range(1000):
                notifications.emit(services, 'thing.start', {})
            quick = time.monotonic() - began < waiting.LIMIT / 10  # a thousand waits take longer
            os._exit(
                7 if quick and not services.bus.close(0.1) and log.output.count('are dropped') == 1 else 1
            )
        self.assertEqual(7, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

    def test_unusable_transport_is_logged(self):
        log = self.useFixture(fixtures.FakeLogger(level=40))
        self.conf.set_override('driver', ['messagingv2'], _GROUP)
        self.addCleanup(self.conf.clear_override, 'driver', _GROUP)
        self.use_url('nonsense://')
        notifications.emit(self.services, 'thing.start', {})
        self.assertTrue(self.services.bus.close(waiting.LIMIT))
        self.assertIn('no notifications are sent', log.output)
