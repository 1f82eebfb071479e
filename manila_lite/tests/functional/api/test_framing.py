# SPDX-License-Identifier: Apache-2.0
"""Bytes on a socket of the built-in server: requests that hide another, and bodies without end."""

import re
import select
import socket

from manila_lite.api.http import app
from manila_lite.api.server import server
from manila_lite.tests import waiting
from manila_lite.tests.functional import base

_HEAD = b'POST /v2/shares HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n'
_HIDDEN = b'GET /v2/shares/hidden HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'
_SHARE = b'{"share": {"size": 1, "share_proto": "NFS"}}'

#: Headers and body of one request that could be read as two, or with another length.
AMBIGUOUS = {
    'both lengths': b'Content-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n' % (len(_HIDDEN) + 5),
    'two lengths': b'Content-Length: 0\r\nContent-Length: %d\r\n\r\n' % len(_HIDDEN),
    'two lengths, the other way': b'Content-Length: %d\r\nContent-Length: 0\r\n\r\n' % len(_HIDDEN),
    'a list of lengths': b'Content-Length: 0, 0\r\n\r\n',
    'a length with a sign': b'Content-Length: +0\r\n\r\n',
    'a negative length': b'Content-Length: -1\r\n\r\n',
    'a length as Python writes it': b'Content-Length: 0_0\r\n\r\n',
    'a hexadecimal length': b'Content-Length: 0x0\r\n\r\n',
    'no length at all': b'Content-Length:\r\n\r\n',
    'a blank before the colon': b'Content-Length : 0\r\n\r\n',
    'a header that goes on': b'X-Other: a\r\n Content-Length: 0\r\n\r\n',
    'a carriage return': b'X-Other: a\rContent-Length: 0\r\n\r\n',
    'a NUL': b'X-Other: a\0\r\n\r\n',
    'no carriage return': b'X-Other: a\n\r\n',
    'no colon': b'X-Other\r\n\r\n',
    'an unknown coding': b'Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n',
    'a coding that is none': b'Transfer-Encoding: identity\r\n\r\n',
    'two codings': b'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n',
    'a tab that is none': b'Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n',
    'a form feed': b'X-Other: \x0c\r\n\r\n',
    'a list of codings': b'Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n',
    'one coding twice': b'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    'two hosts': b'Host: b\r\n\r\n',
    'two passwords': b'Authorization: Basic YTpi\r\nAuthorization: Basic Yzpk\r\n\r\n',
    'two tokens': b'X-Auth-Token: a:p\r\nx-auth-token: b:p\r\n\r\n',
    'two tokens of services': b'X-Service-Token: a\r\nX-Service-Token: a\r\n\r\n',
    'two origins': b'Origin: http://a\r\nOrigin: null\r\n\r\n',
    'a chunk of negative size': b'Transfer-Encoding: chunked\r\n\r\n-1\r\n0\r\n\r\n',
    'a chunk with a prefix': b'Transfer-Encoding: chunked\r\n\r\n0x1\r\na\r\n0\r\n\r\n',
    'a chunk as Python writes it': b'Transfer-Encoding: chunked\r\n\r\n0_1\r\na\r\n0\r\n\r\n',
    'a chunk that is longer than it says': b'Transfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n0\r\n\r\n',
    'a chunk without a carriage return': b'Transfer-Encoding: chunked\r\n\r\n1\na\r\n0\r\n\r\n',
    'a chunk that ends without a carriage return': b'Transfer-Encoding: chunked\r\n\r\n1\r\na\n0\r\n\r\n',
    'an extension without a carriage return': b'Transfer-Encoding: chunked\r\n\r\n1;a\na\r\n0\r\n\r\n',
}
#: First lines that others could read differently, or that only a proxy answers.
FIRST_LINES = {
    'two blanks': (b'GET  /v2/ HTTP/1.1', 400),
    'two blanks before the version': (b'GET /v2/  HTTP/1.1', 400),
    'a tab': (b'GET\t/v2/ HTTP/1.1', 400),
    'a blank at the end': (b'GET /v2/ HTTP/1.1 ', 400),
    'a blank at the begin': (b' GET /v2/ HTTP/1.1', 400),
    'no version': (b'GET /v2/', 400),
    'no target': (b'GET HTTP/1.1', 400),
    'two empty lines before it': (b'\r\n\r\nGET /v2/ HTTP/1.1', 400),
    'a line feed before it': (b'\nGET /v2/ HTTP/1.1', 400),
    'a line feed at its end': (b'GET /v2/ HTTP/1.1\nX: a', 400),
    'lower case': (b'get /v2/ HTTP/1.1', 400),
    'an unknown method': (b'GETS /v2/ HTTP/1.1', 400),
    'a lower version': (b'GET /v2/ http/1.1', 400),
    'a streaming protocol': (b'DESCRIBE /v2/ RTSP/1.0', 400),
    'another one': (b'SOURCE /v2/ ICE/1.0', 400),
    'version 0.9': (b'GET /v2/ HTTP/0.9', 505),
    'version 2': (b'GET /v2/ HTTP/2.0', 505),
    'no such version': (b'GET /v2/ HTTP/1.2', 400),
    'an absolute target': (b'GET http://a/v2/ HTTP/1.1', 400),
    'a target with a host': (b'GET //a/v2/ HTTP/1.1', 400),
    'options of an absolute target': (b'OPTIONS http://a/v2/ HTTP/1.1', 400),
    'a fragment': (b'GET /v2/#a HTTP/1.1', 400),
    'no slash': (b'GET v2/ HTTP/1.1', 400),
    'a NUL': (b'GET /v2/\0 HTTP/1.1', 400),
    'no ASCII': (b'GET /v2/\xe9 HTTP/1.1', 400),
    'connect': (b'CONNECT a:1 HTTP/1.1', 405),
    'connect to a path': (b'CONNECT /v2/ HTTP/1.1', 405),
}


class Wire(base.ServiceTest):
    """The built-in server with a socket."""

    PARTS = ()

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.service.conf.set_override('allowed_hosts', ['a', 'evil'], 'api')
        cls.service.wsgi = app.make(cls.service.services)
        cls.most = cls.service.conf.api.max_request_body_size
        cls.api = server.ApiServer(cls.service.wsgi, '127.0.0.1', 0, max_body=cls.most)
        cls.api.start()
        cls.addClassCleanup(cls.api.stop, 1)

    def say(self, *parts):
        """Send bytes until the server hangs up; return the statuses of all answers, and the answers."""
        with socket.create_connection(('127.0.0.1', self.api.port), timeout=waiting.LIMIT) as wire:
            said = b''
            try:
                for part in parts:
                    wire.sendall(part)
                while got := wire.recv(65536):
                    said += got
            except ConnectionError:
                pass  # the server hangs up on bytes that it does not want to read
        return [int(status) for status in re.findall(rb'HTTP/1\.1 (\d{3}) ', said)], said

    def test_ambiguous_request_gets_a_single_400_answer(self):
        for name, sent in AMBIGUOUS.items():
            statuses, said = self.say(_HEAD + sent + _HIDDEN)
            self.assertEqual([400], statuses, (name, said))

    def test_first_line_in_a_doubtful_form_is_refused(self):
        for name, (line, status) in FIRST_LINES.items():
            statuses, said = self.say(line + b'\r\nHost: a\r\n\r\n' + _HIDDEN)
            self.assertEqual([status], statuses, (name, said))

    def test_chunks_in_http_1_0_are_refused(self):
        head = _HEAD.replace(b'1.1', b'1.0') + b'Connection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n'
        self.assertEqual([400], self.say(head + b'0\r\n\r\n' + _HIDDEN)[0])

    def test_valid_forms_are_answered(self):
        """Check the forms of honest clients: none is taken for two, and the request after each is answered."""
        get, body = b'GET /v2/shares/none HTTP/1.1\r\nHost: a\r\n', b'Content-Length: 4\r\n\r\nnull'
        old, upgrade = get.replace(b'1.1', b'1.0'), b'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n'
        for name, sent in {
            'an upgrade that is not made': get + upgrade + b'\r\n',
            'an upgrade with a body': get + upgrade + body,
            'one empty line before it': b'\r\n' + get + b'\r\n',
            'a body with GET': get + body,
            'blanks around a length': get + body.replace(b' 4', b' \t 4 \t'),
            'kept by HTTP/1.0': old + b'Connection: keep-alive\r\n\r\n',
        }.items():
            statuses, said = self.say(sent + _HIDDEN)
            self.assertEqual([404, 404], statuses, (name, said))
        for last in (old, get + b'Connection: Close\r\n'):
            self.assertEqual([404], self.say(last + b'\r\n' + _HIDDEN)[0], last)

    def test_chunks_with_an_upgrade_are_read_to_their_end(self):
        """Check that what follows an upgrade is the body: the parser would take it for another protocol."""
        chunked = b'Connection: Upgrade\r\nUpgrade: h2c\r\nTransfer-Encoding: chunked\r\n\r\n'
        body = b'%X\r\n%s\r\n0\r\nX-Trailer: a\r\n\r\n' % (len(_SHARE), _SHARE)
        statuses, said = self.say(_HEAD + chunked + body + _HIDDEN)
        self.assertEqual([200], statuses, said)
        self.assertIn(b'"share_proto":"NFS"', said)
        for after in (
            b'nonsense\r\n',
            b'CONNECT a:1 HTTP/1.1\r\n\r\n',
            _HEAD + chunked + b'%X\r\n' % (1 << 99),
        ):
            self.assertEqual([200], self.say(_HEAD + chunked + body + after)[0], after)

    def test_two_valid_requests_on_one_connection_are_answered(self):
        """Check that the second request is answered if it is an honest one, so that the test above would notice it."""
        body = b'Content-Length: %d\r\n\r\n%s' % (len(_SHARE), _SHARE)
        self.assertEqual(
            [404, 404], self.say(_HEAD.replace(b'shares', b'shares/none/action') + body + _HIDDEN)[0][:2]
        )

    def test_chunked_body_is_accepted(self):
        chunks = b''.join(b'%X;why=not\r\n%s\r\n' % (len(part), part) for part in (_SHARE[:7], _SHARE[7:]))
        statuses, said = self.say(
            _HEAD + b'Transfer-Encoding: Chunked\r\n\r\n' + chunks + b'0\r\n\r\n' + _HIDDEN
        )
        self.assertEqual(
            [200], statuses, said
        )  # the answer to the second request is missing: the server hung up
        self.assertIn(b'"share_proto":"NFS"', said)

    def test_body_over_the_limit_is_refused_with_413(self):
        one, many = (
            b'%X\r\n' % (self.most + 1) + b' ' * (self.most + 1),
            b'1000\r\n' + b' ' * 0x1000 + b'\r\n',
        )
        chunked = _HEAD + b'Transfer-Encoding: chunked\r\n\r\n'
        for name, sent in {
            'a chunk': [chunked, one],
            'many chunks': [chunked] + [many] * (self.most // 0x1000 + 2),
            'a length': [_HEAD + b'Content-Length: %d\r\n\r\n' % (self.most + 1)],
            'any length': [_HEAD + b'Content-Length: %s\r\n\r\n' % (b'9' * 1000)],
        }.items():
            statuses, said = self.say(*sent)
            self.assertEqual([413], statuses, (name, said[:500]))

    def test_client_that_keeps_sending_still_receives_the_413(self):
        for name, head in {
            'a length': b'Content-Length: 1000000000\r\n\r\n',
            'a chunk': (
                b'Transfer-Encoding: chunked\r\n\r\n%X\r\n' % (2 * self.most) + b' ' * (self.most + 1)
            ),
        }.items():
            with socket.create_connection(('127.0.0.1', self.api.port), timeout=waiting.LIMIT) as wire:
                wire.sendall(_HEAD + head)
                select.select([wire], [], [])  # waits for the answer
                for _ in range(20):
                    wire.sendall(b' ' * 65536)
                self.assertIn(b' 413 ', wire.makefile('rb').read(), name)

    def test_chunked_body_with_invalid_json_is_refused(self):
        statuses, said = self.say(_HEAD + b'Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n0\r\n\r\n')
        self.assertEqual([400], statuses, said)
        self.assertIn(b'malformed_body', said)

    def test_header_line_of_more_than_8_kib_is_refused(self):
        request = b'GET /v2/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX-Long: %s\r\n\r\n'
        self.assertEqual([200], self.say(request % (b'a' * (8192 - len(b'X-Long: \r\n'))))[0])
        statuses, said = self.say(request % (b'a' * (8193 - len(b'X-Long: \r\n'))))
        self.assertEqual([400], statuses)
        self.assertTrue(said.endswith(b'A header line is longer than 8192 bytes.'), said)

    def test_header_with_underscores_is_ignored(self):
        """Check that a header with underscores is ignored: a proxy that sets X-Forwarded-Host leaves such a header alone."""
        request = b'GET /v2/ HTTP/1.1\r\nHost: a\r\nX_Forwarded_Host: evil\r\nConnection: close\r\n\r\n'
        statuses, said = self.say(request)
        self.assertEqual([200], statuses, said)
        self.assertNotIn(b'evil', said)
        self.assertIn(b'evil', self.say(request.replace(b'_', b'-'))[1])
