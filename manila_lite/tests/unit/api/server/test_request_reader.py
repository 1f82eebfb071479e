# SPDX-License-Identifier: Apache-2.0

import testtools

from manila_lite.api.server import framing, request_reader, server

_HEAD = b'POST /a HTTP/1.1\r\nHost: a\r\n'


class Conn:
    """A stand-in for a connection, as a request needs it."""

    rfile = None

    def __init__(self):
        self.wfile = self
        self.said = b''

    def write(self, data):
        self.said += data


class TestIncoming(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.conn = Conn()
        self.settings = server.Settings(None, 100, 1000, ('127.0.0.1', 1), 30)
        self.incoming = request_reader.RequestReader(self.settings, self.conn, 1000)

    def feed(self, data, size=1):
        """Return the requests that were complete after the bytes came in pieces of ``size``."""
        found = []
        for start in range(0, len(data), size):
            self.incoming.add(data[start : start + size])
            while (request := self.incoming.take()) is not None:
                found.append(request)
                if request.refused:
                    return found
        return found

    def test_requests_are_read_whatever_pieces_they_arrive_in(self):
        sent = (
            b'GET /one HTTP/1.1\r\nHost: a\r\n\r\n'
            + _HEAD
            + b'Content-Length: 3\r\n\r\nabc'
            + _HEAD
            + b'Transfer-Encoding: chunked\r\n\r\n2;x=y\r\nde\r\n1\r\nf\r\n0\r\n\r\n'
        )
        for size in (1, 2, 3, 7, 1000):
            found = self.feed(sent, size)
            self.assertEqual(
                [(b'/one', b''), (b'/a', b'abc'), (b'/a', b'def')],
                [(request.path, request.rfile.read()) for request in found],
                size,
            )
            self.assertEqual([False, False, True], [request.close_connection for request in found])
            self.assertEqual(
                (b'3', None),
                (found[2].inheaders[b'Content-Length'], found[2].inheaders.get(b'Transfer-Encoding')),
            )
            self.assertEqual(0, len(self.incoming))

    def test_reader_tells_its_buffered_bytes_and_whether_it_is_in_a_body(self):
        self.assertEqual((0, False), (len(self.incoming), self.incoming.in_body))
        self.assertEqual([], self.feed(_HEAD))
        self.assertEqual((len(_HEAD), False), (len(self.incoming), self.incoming.in_body))
        self.assertEqual([], self.feed(b'Content-Length: 3\r\n\r\na'))
        self.assertEqual((1, True), (len(self.incoming), self.incoming.in_body))

    def test_expect_100_continue_is_answered_with_100(self):
        self.assertEqual([], self.feed(_HEAD + b'Content-Length: 3\r\nExpect: 100-continue\r\n\r\n'))
        self.assertEqual(b'HTTP/1.1 100 Continue\r\n\r\n', self.conn.said)

    def test_invalid_requests_are_refused(self):
        for sent, status in (
            (b'nonsense\r\n\r\n', '400'),
            (b'\r\n\r\n', '400'),
            (b'GET / HTTP/1.1\n\n', '400'),
            (b'GET http://[::1/ HTTP/1.1\r\n\r\n', '400'),
            (b'GET / HTTP/2.0\r\n\r\n', '505'),
            (b'POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n', '400'),
            (_HEAD + b'Content-Length: 101\r\n\r\n', '413'),
            (_HEAD + b'X: ' + b'y' * 1000, '413'),
            (b'GET /' + b'y' * 1000, '414'),
            (_HEAD + b'Transfer-Encoding: chunked\r\n\r\n65\r\n' + b'x' * 101, '413'),
            (_HEAD + b'Transfer-Encoding: chunked\r\n\r\n-1\r\n', '400'),
            (_HEAD + b'Transfer-Encoding: chunked\r\n\r\n1;' + b'x' * 1024, '400'),
            (_HEAD + b'Transfer-Encoding: chunked\r\n\r\n1\r\nabc', '400'),
        ):
            for size in (1, 4000):
                self.begin_anew()
                found = self.feed(sent, size)
                self.assertEqual([status], [request.refused[:3] for request in found], (sent, size))
                self.assertIn(f'HTTP/1.1 {status} '.encode(), self.conn.said)
                self.assertIn(b'Connection: close\r\n', self.conn.said)

    def begin_anew(self):
        self.conn = Conn()
        self.incoming = request_reader.RequestReader(self.settings, self.conn, 1000)

    def test_refusal_sends_the_given_status_text_and_header(self):
        self.feed(_HEAD + b'Content-Length: 3\r\n\r\na')
        request = self.incoming.refuse('408 Request Timeout', 'late', 'Retry-After: 1\r\n')
        self.assertIsInstance(request, framing.HttpRequest)
        self.assertEqual(
            b'HTTP/1.1 408 Request Timeout\r\nContent-Length: 4\r\nContent-Type: text/plain\r\n'
            b'Retry-After: 1\r\nConnection: close\r\n\r\nlate',
            self.conn.said,
        )
        self.assertFalse(self.incoming.in_body)
