# SPDX-License-Identifier: Apache-2.0
"""The thread that serves all connections, and the accepting of new ones: on sockets, with small limits."""

import contextlib
import http.client
import logging
import socket
import threading
import time

import fixtures
import testtools

from manila_lite.api.server import admission, server
from manila_lite.api.server.connection import ConnectionState
from manila_lite.api.server.connection_limits import Limits
from manila_lite.cmd import log_rate_limit
from manila_lite.tests import waiting

_GET = b'GET /%s HTTP/1.1\r\nHost: a\r\n\r\n'
_LARGE = 8 << 20
#: Seconds: longer than any test.
_LONG = 2 * waiting.LIMIT


class App:
    """Application that answers at once; ``/slow`` when told to, ``/large`` with megabytes."""

    def __init__(self):
        self.go_on = threading.Event()

    def __call__(self, environ, start_response):
        path = environ['PATH_INFO']
        if path == '/slow':
            self.go_on.wait(waiting.LIMIT)
        body = b'x' * (_LARGE if path == '/large' else 2)
        start_response('200 OK', [('Content-Length', str(len(body)))])
        return [body]


class TestCrowd(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.log = self.useFixture(fixtures.FakeLogger())
        for logger in map(
            logging.getLogger, log_rate_limit.LOGGERS
        ):  # another test of this process may have logged many lines
            self.addCleanup(setattr, logger, 'filters', logger.filters)
            logger.filters = []
        self.app = App()
        self.addCleanup(self.app.go_on.set)

    def serve(self, threads=2, **limits):
        limits = Limits(**(dict.fromkeys(('idle', 'header', 'body', 'answer'), _LONG) | limits))
        self.api = server.ApiServer(self.app, '127.0.0.1', 0, threads, max_body=1000, limits=limits)
        self.api.start()
        self.addCleanup(self.api.stop, 1)

    def connect(self, said=b''):
        wire = socket.create_connection(('127.0.0.1', self.api.port), timeout=waiting.LIMIT)
        self.addCleanup(wire.close)
        wire.sendall(said)
        return wire

    def status(self, wire, path=b'x'):
        """Return the status of the reply to a request on the connection; 0 if the connection is closed."""
        with contextlib.suppress(OSError, http.client.HTTPException):
            wire.sendall(_GET % path)
            answer = http.client.HTTPResponse(wire)
            answer.begin()
            answer.read()
            self.headers = answer.headers
            return answer.status
        return 0

    def heard(self, wire):
        """Return all data that the server sends until it closes the connection."""
        said = b''
        with contextlib.suppress(ConnectionError):
            while got := wire.recv(1 << 20):
                said += got
        return said

    def test_slow_headers_and_bodies_are_refused_with_408(self):
        for head, limit in (
            (b'GET / HTTP/1.1\r\nX: ', 'header'),
            (b'POST / HTTP/1.1\r\nContent-Length: 900\r\n\r\n', 'body'),
        ):
            self.serve(**{limit: 0.5})
            wire = self.connect(head)
            wire.settimeout(0.1)
            said = waiting.until(lambda wire=wire: self.answer_to_a_letter(wire), 'an answer', pause=0.001)
            self.assertIn(b' 408 ', said)

    @staticmethod
    def answer_to_a_letter(wire):
        """Send one more letter, so that the client is never silent; return the server's answer, or None."""
        with contextlib.suppress(OSError):  # it may have closed the connection, and said why
            wire.sendall(b'a')
        with contextlib.suppress(TimeoutError):
            return wire.recv(1000)

    def test_idle_connection_is_closed(self):
        self.serve(idle=0.3)
        self.assertEqual(b'', self.heard(self.connect()))

    def test_client_that_does_not_read_is_disconnected_and_holds_no_thread(self):
        self.serve(threads=1, answer=0.5)
        wires = [self.connect(_GET % b'large' * 3) for _ in range(4)]
        self.assertEqual(200, self.status(self.connect()))
        self.wait_for_log('unread', 4)
        for wire in wires:
            self.assertLess(len(self.heard(wire)), 3 * _LARGE)

    def wait_for_log(self, what, times=1):
        waiting.until(lambda: self.log.output.count(what) >= times, lambda: self.log.output)

    def test_connection_is_dropped_when_unread_answers_exceed_the_memory(self):
        self.serve(memory=3 * _LARGE)
        for _ in range(6):
            self.connect(_GET % b'large')
        self.wait_for_log('given up (memory, answer)')
        self.assertEqual(200, self.status(self.connect()))

    def test_large_answer_is_complete_and_the_next_request_is_answered(self):
        self.serve()
        wire = self.connect(_GET % b'large' + b'GET /x HTTP/1.1\r\nConnection: close\r\n\r\n')
        said = self.heard(wire)
        self.assertEqual(2, said.count(b'HTTP/1.1 200 OK'))
        self.assertGreater(len(said), _LARGE)

    def test_oldest_idle_connection_is_closed_for_a_new_one(self):
        self.serve(connections=8)
        wires = []
        for _ in range(8):
            wires.append(self.connect())
            self.assertEqual(200, self.status(wires[-1]))
            self.wait_until_idle(len(wires))  # else a later one, answered by another thread, may be first
        self.assertEqual(200, self.status(wires[0]))  # it is the most recently used now
        self.wait_until_idle(8)
        self.assertEqual(200, self.status(self.connect()))
        self.assertEqual([200, 0, *[200] * 6], [self.status(wire) for wire in wires])

    def test_full_server_answers_503_but_still_answers_health_checks(self):
        self.serve(connections=8)
        callers = [self.connect(_GET % b'slow') for _ in range(8)]
        self.wait_for(lambda: len(self.api._crowd._table.all_in(ConnectionState.WORKING)) == 8)
        self.assertEqual(503, self.status(self.connect()))
        self.assertEqual('1', self.headers['Retry-After'])
        self.assertEqual(
            503, self.status(self.connect(), b'x HTTP/1.1\r\nUser-Agent: python-manilaclient\r\nX-Rest:')
        )
        self.assertNotIn('Retry-After', self.headers)
        self.assertEqual(200, self.status(self.connect(), b'healthcheck'))  # the others are still at work
        self.app.go_on.set()
        for wire in callers:
            answer = http.client.HTTPResponse(wire)
            answer.begin()
            self.assertEqual(200, answer.status)

    def wait_until_idle(self, count):
        self.wait_for(lambda: len(self.api._crowd._table.all_in(ConnectionState.IDLE)) == count)

    def wait_for(self, check):
        end = time.monotonic() + waiting.LIMIT
        while not check():
            self.assertLess(time.monotonic(), end)

    def test_connections_beyond_the_limit_of_one_address_get_503(self):
        self.serve(per_address=3)
        mine = [self.connect() for _ in range(3)]
        self.assertEqual([200] * 3, [self.status(wire) for wire in mine])
        for _ in range(5):
            self.assertEqual(503, self.status(self.connect()))
        self.assertEqual([200] * 3, [self.status(wire) for wire in mine])
        self.assertEqual(200, self.status(self.connect(), b'healthcheck'))
        for _ in range(3 * admission.SURPLUS):
            self.connect()
        self.wait_for_log('given up (address, ')
        self.assertEqual(200, self.status(self.connect(), b'healthcheck'))

    def test_a_refused_client_that_sends_on_holds_no_thread(self):
        self.useFixture(fixtures.MonkeyPatch('manila_lite.api.server.event_loop._LINGER', _LONG))
        self.serve(threads=1)
        wires = [self.connect(b'nonsense\r\n\r\n') for _ in range(8)]
        self.assertEqual(200, self.status(self.connect()))
        for wire in wires:
            self.assertIn(b' 400 ', self.heard(wire))

    def test_stop_closes_idle_connections_and_unfinished_requests(self):
        self.serve()
        slow, idle = self.connect(b'GET /slow'), self.connect()
        self.assertEqual(200, self.status(idle))
        self.assertTrue(self.api.stop(0.5))
        self.assertEqual([b'', b''], [self.heard(wire) for wire in (slow, idle)])
