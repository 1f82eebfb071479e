# SPDX-License-Identifier: Apache-2.0

import socket

import fixtures
import testtools

from manila_lite.api.server import connection, server


class TestOrigin(testtools.TestCase):
    def test_addresses_of_one_client_have_one_origin(self):
        for address, expected in {
            '192.0.2.1': '192.0.2.1',
            '::ffff:192.0.2.1': '192.0.2.1',
            '2001:db8:1:2:3:4:5:6': '2001:db8:1:2::/64',
            '2001:db8:1:2::9': '2001:db8:1:2::/64',
            'fe80::1%eth0': 'fe80::/64',
        }.items():
            self.assertEqual(expected, connection.origin(address))


class TestConnection(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(fixtures.FakeLogger())
        self.ours, self.theirs = socket.socketpair()
        for one in (self.ours, self.theirs):
            self.addCleanup(one.close)

    def asked(self, app, request=b'GET /a HTTP/1.1\r\nHost: a\r\n\r\n'):
        """Return a connection that has received a request."""
        conn = connection.Connection(
            self.ours, ('192.0.2.1', 7), server.Settings(app, 0, 1000, ('127.0.0.1', 1), 30), 0.0
        )
        self.theirs.send(request)
        self.assertTrue(conn.read())
        conn.request = conn.incoming.take()
        return conn

    def test_large_answer_is_sent_in_parts_as_the_client_reads(self):
        def app(environ, start_response):
            start_response('200 OK', [('Content-Length', '6000000')])
            return [b'a' * 3_000_000, b'b' * 3_000_000]

        conn = self.asked(app)
        conn.answer()
        self.assertGreater(conn.size, 1_000_000)
        self.assertFalse(conn.flush())
        got = b''
        while not conn.flush():
            got += self.theirs.recv(1 << 20)
        self.ours.shutdown(socket.SHUT_WR)
        while more := self.theirs.recv(1 << 20):
            got += more
        self.assertTrue(got.endswith(b'\r\n\r\n' + b'a' * 3_000_000 + b'b' * 3_000_000))
        self.assertEqual((0, False), (conn.size, conn.ends))

    def test_failing_application_answers_500_and_ends_the_connection(self):
        def app(environ, start_response):
            raise KeyError('nobody knew')

        conn = self.asked(app)
        conn.answer()
        self.assertIn(b' 500 ', self.theirs.recv(1000))
        self.assertTrue(conn.ends)

    def test_answer_to_a_disconnected_client_ends_the_connection(self):
        def app(environ, start_response):
            start_response('200 OK', [])
            return [b'a']

        conn = self.asked(app)
        self.theirs.close()
        conn.answer()
        self.assertEqual((True, False, 0), (conn.ends, conn.lingers, conn.size))
