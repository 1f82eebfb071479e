# SPDX-License-Identifier: Apache-2.0
"""Events and the built-in server: no thread for each client, limits, clients that do not read, and the end of the process."""

import http.client
import itertools
import json
import signal
import socket
import threading
import time

import psutil
import testtools

from manila_lite.db import models
from manila_lite.db.queries import evacuation
from manila_lite.db.queries import operations as rows
from manila_lite.tests import process, waiting
from manila_lite.tests.functional import base, event_streams
from manila_lite.tests.functional.api import test_budgets
from manila_lite.tests.functional.event_streams import status_of
from manila_lite.tests.functional.events import test_events

_LISTENERS = 300
#: The state of a connection in TCP_INFO.
_ESTABLISHED = 1


def nobody_listens():
    """Say whether the thread that looks for events has ended."""
    return 'events' not in {thread.name for thread in threading.enumerate()}


class Threads(test_events.EventTest):
    """One process, and what it spends on clients that listen."""

    def test_clients_take_no_threads_and_little_time(self):
        self.service.conf.set_override('max_listeners_per_project', _LISTENERS + 1, 'events')
        self.addCleanup(self.service.conf.clear_override, 'max_listeners_per_project', 'events')
        first = self.listen(self.owner).begun()
        before = threading.active_count()
        streams = [self.listen(self.owner) for _ in range(_LISTENERS)]
        for stream in streams:
            stream.begun()
        self.assertLessEqual(threading.active_count(), before)
        self.assertEqual(200, self.owner.call('GET', '/shares')[0])
        began = time.monotonic()
        with test_budgets.counting(self.service.services.db.engine) as counter:
            time.sleep(5.5)  # sleeps: to count what is spent on clients to whom nothing happens
        mine = [text for name, text in counter.statements if name == 'events']
        # One look a second: at the clock, at the changes, and at what leaves no trace.
        self.assertLessEqual(len(mine), 3 * (int(time.monotonic() - began) + 1), mine)
        share = self.owner.share()['id']
        for stream in (first, *streams):
            stream.until(status_of(share, 'available'), 'one client hears nothing')

    def test_nobody_looks_when_nobody_listens(self):
        stream = self.listen(self.owner).begun()
        self.assertIn('events', {thread.name for thread in threading.enumerate()})
        stream.socket.close()
        base.eventually(nobody_listens, 'the thread does not end')


class Limits(test_events.EventTest):
    """Places for clients, of a project and of all."""

    EXTRA = '[events]\nmax_listeners = 4\nmax_listeners_per_project = 2\n'

    def setUp(self):
        super().setUp()
        base.eventually(nobody_listens, 'the clients of the test before keep their places')

    def test_no_more_than_the_places_of_a_project_and_of_the_process(self):
        streams = [self.listen(caller).begun() for caller in (self.owner, self.owner)]
        refused = self.listen(self.owner)
        self.assertEqual((503, '1'), (refused.status, refused.headers['retry-after']))
        self.assertEqual(503, self.events(self.owner)[0])
        streams += [self.listen(self.other).begun() for _ in range(2)]
        third = self.caller('third')
        self.assertEqual(503, self.listen(third).status)
        streams[0].socket.close()
        base.eventually(
            lambda: self.listen(third).status == 200, 'the place of a client that left stays taken'
        )


class Lasting(test_events.EventTest):
    """Clients that listen for longer than they may."""

    EXTRA = '[events]\nlistener_time = 4\n'

    def test_stream_ends_after_its_time_and_goes_on_where_it_was(self):
        stream = self.listen(self.owner).begun()
        while not stream.is_over:
            stream.read()
        share = self.owner.share()['id']
        again = self.listen(self.owner, position=stream.position)
        again.until(status_of(share, 'available'), 'lost in between')


class Slow(test_events.EventTest):
    """Clients that do not read."""

    EXTRA = '[events]\nlistener_buffer = 131072\n'

    def test_client_that_does_not_read_is_dropped_and_others_are_not(self):
        deaf = self.listen(self.admin, query='?all_tenants=1', receive=4096)
        other = self.listen(self.admin, query='?all_tenants=1').begun()
        number = itertools.count()
        with self.service.services.db.writer() as conn:
            ids = [
                rows.insert(
                    conn,
                    kind=evacuation.KIND,
                    resource_type='service',
                    resource_id='1',
                    topic='none',
                    lane='work',
                    host='none',
                    data={},
                )
                for _ in range(5)
            ]

        def change():
            with self.service.services.db.writer() as conn:
                conn.execute(
                    models.operations.update()
                    .where(models.operations.c.id.in_(ids))
                    .values(data={'plan': {'words': f'{next(number)}' * 10_000}})
                )
            while other.read(1.0):
                pass
            return self.is_dropped(deaf)

        waiting.until(change, 'the client is kept')
        self.assertEqual([], [event for event, _ in other.events if event == 'reset'])
        share = self.owner.share()['id']
        other.until(status_of(share, 'available'), 'another client was dropped')

    def is_dropped(self, deaf):
        """Say whether the connection is broken; nothing is read from it."""
        return deaf.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] != _ESTABLISHED


class Ends(testtools.TestCase):
    """The end of a process, and of its clients."""

    def test_sigterm_ends_streams_and_waiting_requests_at_once_and_nothing_is_lost(self):
        lite = self.useFixture(process.Lite())
        lite.start()
        lite.ok('POST', '/types', process.DEFAULT_TYPE)
        token = 'u:p:member,reader'
        stream = event_streams.Stream(lite.port, token).begun()
        waits = http.client.HTTPConnection('127.0.0.1', lite.port, timeout=waiting.LIMIT)
        waits.request(
            'GET',
            f'/v2/events?wait=30&last_event_id={stream.position}',
            headers={'X-Auth-Token': token, 'Accept': 'application/json'},
        )
        server = psutil.Process(lite.process.pid)
        base.eventually(
            lambda: sum(one.status == 'ESTABLISHED' for one in server.net_connections()) >= 2, 'no client'
        )
        begin = time.monotonic()
        lite.process.send_signal(signal.SIGTERM)
        while not stream.is_over:
            stream.read()
        document = json.loads(waits.getresponse().read())
        self.assertLess(time.monotonic() - begin, 25)  # the client asked to wait for 30 seconds
        self.assertEqual([], document['events'])
        self.assertEqual(0, lite.died())
        lite.start()
        share = lite.ok('POST', '/shares', {'share': {'size': 1, 'share_proto': 'NFS'}})['share']['id']
        for position in (stream.position, document['last_event_id']):
            again = event_streams.Stream(lite.port, token, position)
            again.until(status_of(share, 'available'), 'lost at the restart')
            self.assertNotIn('reset', [event for event, _ in again.events])
            again.socket.close()
