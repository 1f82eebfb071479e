# SPDX-License-Identifier: Apache-2.0
"""Requests that the built-in server refuses are refused behind another server, too, which parses them in its own way."""

import base64
import re
import socket

import bcrypt
import testtools

from manila_lite.tests import process, waiting
from manila_lite.tests.functional.api.test_wsgi_servers import gunicorn


class BehindGunicorn(testtools.TestCase):
    def served(self, **environ):
        """Serve the API behind gunicorn."""
        self.parts = self.useFixture(process.Parts())
        self.parts.run(
            'web',
            *gunicorn(self.parts),
            HOME=str(self.parts.state),
            MANILA_LITE_CONFIG_FILES=str(self.parts.config),
            **environ,
        )
        self.parts.until(self.parts.answers, 'the server answers')

    def say(self, target, *headers):
        """Send a request; return the status and the bytes of the reply."""
        lines = [b'GET %s HTTP/1.1' % target, *headers, b'Connection: close', b'', b'']
        with socket.create_connection(('127.0.0.1', self.parts.port), timeout=waiting.LIMIT) as wire:
            wire.sendall(b'\r\n'.join(lines))
            said = b''
            while got := wire.recv(65536):
                said += got
        [status] = re.findall(rb'^HTTP/1\.1 (\d{3}) ', said)
        return int(status), said

    def test_foreign_hosts_and_malformed_requests_are_refused(self):
        self.served()
        host = b'Host: localhost'
        self.assertEqual(200, self.say(b'/v2/shares', host)[0])
        self.assertEqual(403, self.say(b'/v2/shares', b'Host: evil.example')[0])
        self.assertEqual(
            403, self.say(b'/v2/shares', b'Host: evil.example', b'X-Forwarded-Host: localhost')[0]
        )
        status, said = self.say(b'/', host, b'X-Forwarded-Prefix: \xff')
        self.assertEqual((400, True), (status, b'X-Forwarded-Prefix: ' in said))
        for target, headers in (
            (b'http://[::1/v2/shares', (host,)),
            (b'/v2/shares', (host, b'Host: localhost')),
            (b'/v2/shares', (b'Host: a b',)),
            (b'/v2/shares?metadata=' + b'(' * 3000, (host,)),
        ):
            self.assertEqual(400, self.say(target, *headers)[0], (target[:40], headers))

    def test_repeated_authorization_headers_are_refused(self):
        """gunicorn joins two headers with a comma, and decoders of base64 skip other characters."""
        users = self.useFixture(process.Parts()).state / 'users'
        users.write_text(f'alice:{bcrypt.hashpw(b"right", bcrypt.gensalt(4)).decode()}\n')
        self.served(
            OS_DEFAULT__AUTH_STRATEGY='http_basic',
            OS_API__HTTP_BASIC_AUTH_USER_FILE=str(users),
            OS_API__HTTP_BASIC_ACCOUNTS='alice:p:member+reader',
        )
        right = b'Authorization: Basic ' + base64.b64encode(b'alice:right')
        self.assertEqual(200, self.say(b'/v2/shares', b'Host: cloud.example', right)[0])
        for other in (
            right,
            b'Authorization: Basic ' + base64.b64encode(b'root:right'),
            b'Authorization: Bearer x',
        ):
            for headers in ((right, other), (other, right)):
                status, said = self.say(b'/v2/shares', b'Host: cloud.example', *headers)
                self.assertEqual((400, True), (status, b'Authorization: is there twice' in said), headers)
