# SPDX-License-Identifier: Apache-2.0

import http.client
import json
import socket
import threading

import fixtures
import testtools

from manila_lite import errors
from manila_lite.api.server import server
from manila_lite.api.server.connection_limits import Limits
from manila_lite.api.server.listener import Listener
from manila_lite.tests import waiting


class App:
    """Application that answers with the request's path; ``/slow`` waits until told to go on."""

    def __init__(self):
        self.inside, self.go_on = threading.Event(), threading.Event()

    def __call__(self, environ, start_response):
        if environ['PATH_INFO'] == '/slow':
            self.inside.set()
            self.go_on.wait(waiting.LIMIT)
        body = environ['wsgi.input'].read()
        start_response('200 OK', [('Content-Type', 'application/json')])
        return [json.dumps({'path': environ['PATH_INFO'], 'body': len(body)}).encode()]


class TestApiServer(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(fixtures.FakeLogger())
        self.app = App()
        self.addCleanup(self.app.go_on.set)

    def serve(self, host='127.0.0.1', threads=2, **kwargs):
        """Start a server that waits for its clients longer than any test."""
        long = 2 * waiting.LIMIT
        limits = Limits(idle=long, header=long, body=long, answer=long)
        api = server.ApiServer(self.app, host, 0, threads, limits=limits, **kwargs)
        api.start()
        self.addCleanup(api.stop, 1)
        return api

    def ask(self, api, path='/x', body=None, headers=None):
        connection = http.client.HTTPConnection(api.host, api.port, timeout=waiting.LIMIT)
        self.addCleanup(connection.close)
        connection.request('POST', path, body, headers or {})
        answer = connection.getresponse()
        return answer, answer.read()

    def ask_slowly(self, api):
        """Return a thread with a request in progress, and the list for its answer."""
        answers = []
        thread = threading.Thread(target=lambda: answers.append(self.ask(api, '/slow')))
        thread.start()
        self.assertTrue(self.app.inside.wait(waiting.LIMIT))
        return thread, answers

    def test_request_is_answered_on_the_reported_port(self):
        api = self.serve()
        self.assertNotEqual(0, api.port)
        answer, body = self.ask(api, body=b'abc')
        self.assertEqual((200, {'path': '/x', 'body': 3}), (answer.status, json.loads(body)))
        self.assertEqual(f'127.0.0.1:{api.port}', api.address)

    def test_it_listens_on_ipv6(self):
        try:
            socket.create_server(('::1', 0), family=socket.AF_INET6).close()
        except OSError:
            self.skipTest('no IPv6 loopback on this machine')
        api = self.serve('::1')
        self.assertEqual(200, self.ask(api)[0].status)
        self.assertEqual(f'[::1]:{api.port}', api.address)

    def test_start_on_an_address_in_use_fails_and_names_it(self):
        api = self.serve()
        second = server.ApiServer(self.app, '127.0.0.1', api.port)
        error = self.assertRaises(errors.BadConfig, second.start)
        self.assertIn(f'127.0.0.1:{api.port}: Address already in use', str(error))
        self.assertIn('osapi_share_listen_port', str(error))
        self.assertTrue(second.stop(waiting.LIMIT))

    def test_start_on_an_address_of_another_machine_fails_and_names_it(self):
        error = self.assertRaises(errors.BadConfig, server.ApiServer(self.app, '192.0.2.1', 0).start)
        self.assertIn('192.0.2.1:0: Cannot assign requested address', str(error))

    def test_too_large_a_body_is_refused(self):
        api = self.serve(max_body=100)
        self.assertEqual(200, self.ask(api, body=b'x' * 100)[0].status)
        self.assertEqual(413, self.ask(api, body=b'x' * 101)[0].status)

    def test_too_large_a_header_is_refused(self):
        api = self.serve(max_header=2000)
        self.assertEqual(200, self.ask(api, headers={'X-Auth-Token': 'x' * 1000})[0].status)
        self.assertEqual(413, self.ask(api, headers={'X-Auth-Token': 'x' * 2000})[0].status)
        self.assertEqual(414, self.ask(api, path='/' + 'x' * 2000)[0].status)

    def test_silent_connections_take_no_threads(self):
        api = self.serve(threads=2)
        for _ in range(6):
            self.addCleanup(socket.create_connection(('127.0.0.1', api.port)).close)
        self.assertEqual(200, self.ask(api)[0].status)

    def test_a_connection_serves_many_requests(self):
        api = self.serve()
        connection = http.client.HTTPConnection('127.0.0.1', api.port, timeout=waiting.LIMIT)
        self.addCleanup(connection.close)
        ports = set()
        for _ in range(3):
            connection.request('GET', '/')
            connection.getresponse().read()
            ports.add(connection.sock.getsockname()[1])
        self.assertEqual(1, len(ports))

    def test_stop_answers_running_requests_and_accepts_no_more(self):
        api = self.serve()
        caller, answers = self.ask_slowly(api)
        stopped = []
        stopper = threading.Thread(target=lambda: stopped.append(api.stop(waiting.LIMIT)))
        stopper.start()
        waiting.until(lambda: self.refused(api), 'it does not stop')
        self.app.go_on.set()
        stopper.join(waiting.LIMIT)
        self.assertEqual([True], stopped)
        caller.join(waiting.LIMIT)
        self.assertEqual([200], [answer.status for answer, _body in answers])
        self.assertEqual('close', answers[0][0].getheader('Connection'))
        self.assertRaises(ConnectionRefusedError, self.ask, api)
        self.assertTrue(api.stop(waiting.LIMIT))

    def test_last_answer_of_a_connection_says_that_no_other_follows(self):
        """A connection without a request when the server stops gets one more answer, if it asks soon."""
        self.useFixture(fixtures.MonkeyPatch('manila_lite.api.server.event_loop._LAST', waiting.LIMIT))
        api = self.serve()
        kept = http.client.HTTPConnection('127.0.0.1', api.port, timeout=waiting.LIMIT)
        self.addCleanup(kept.close)
        kept.request('GET', '/first')
        answer = kept.getresponse()
        self.assertEqual((200, None), (answer.status, answer.getheader('Connection')), answer.read())
        caller, _ = self.ask_slowly(api)  # the server cannot end before this is answered
        ending = threading.Thread(target=api.stop, args=(waiting.LIMIT,))
        ending.start()
        waiting.until(lambda: self.refused(api), 'it does not stop')
        kept.request('GET', '/last')
        answer = kept.getresponse()
        self.assertEqual((200, 'close'), (answer.status, answer.getheader('Connection')))
        self.app.go_on.set()
        ending.join(waiting.LIMIT)
        caller.join(waiting.LIMIT)

    def refused(self, api):
        with socket.socket() as wire:
            return wire.connect_ex(('127.0.0.1', api.port)) != 0

    def test_listener_outlives_a_server(self):
        first = server.ApiServer(self.app, '127.0.0.1', 0)
        listener = first.listen()
        self.addCleanup(listener.close)
        port = listener.socket.getsockname()[1]
        for _ in range(2):
            api = server.ApiServer(
                self.app, '127.0.0.1', 0, listener=Listener(listener.socket.dup(), self.app)
            )
            with socket.create_connection(('127.0.0.1', port), timeout=waiting.LIMIT) as early:
                early.sendall(b'GET /early HTTP/1.0\r\n\r\n')
                api.start()
                self.addCleanup(api.stop, 1)
                self.assertEqual(port, api.port)
                self.assertIn(b' 200 ', early.recv(100))
            self.assertTrue(api.stop(waiting.LIMIT))

    def test_listener_elsewhere_than_configured_is_said(self):
        listener = server.ApiServer(self.app, '127.0.0.1', 0).listen()
        port = listener.socket.getsockname()[1]
        self.addCleanup(listener.close)
        for host, wanted, said in (
            ('127.0.0.1', port, False),
            ('127.0.0.1', 0, False),
            ('127.0.0.1', 1, True),
            ('127.0.0.2', port, True),
        ):
            log = self.useFixture(fixtures.FakeLogger())
            api = server.ApiServer(self.app, host, wanted, listener=Listener(listener.socket.dup(), self.app))
            api.start()
            self.assertTrue(api.stop(waiting.LIMIT))
            self.assertEqual(said, 'needs a restart (options osapi_share_listen' in log.output, log.output)

    def test_stop_gives_up_after_its_time(self):
        api = self.serve()
        caller, answers = self.ask_slowly(api)
        self.assertFalse(api.stop(0.2))  # the caller is still waiting
        self.assertEqual([], answers)
        self.app.go_on.set()
        caller.join(waiting.LIMIT)
