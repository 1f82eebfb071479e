# SPDX-License-Identifier: Apache-2.0
"""The master answers /healthcheck while a thread holds the interpreter in each process of the API, and loses no request."""

import concurrent.futures
import socket

import testtools

from manila_lite.tests import process, waiting

_EXTRA = """osapi_share_workers = 2
graceful_shutdown_timeout = 1
[healthcheck]
backends = disable_by_file
disable_by_file_path = {away}
"""
#: The watchdog waits for longer than a test lasts.
_NEVER = '3600'


class Held(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.parts = self.useFixture(process.Parts())
        self.away = self.parts.state / 'away'
        with self.parts.config.open('a') as config:
            config.write(_EXTRA.format(away=self.away))
        self.hold = self.parts.state / 'hold'
        self.api = self.parts.run('manila_lite.tests.held:api', HOLD=str(self.hold), SILENT=_NEVER)
        self.parts.until(self.parts.answers, 'the API answers')
        self.pids = self.parts.until(lambda: self.children(2), 'both processes run')

    def children(self, number):
        found = {child.pid: child for child in process.children(self.api)}
        return found if len(found) == number else None

    def hold_one(self):
        self.hold.touch()
        self.parts.until(lambda: not self.hold.exists(), 'an interpreter is held')

    def health(self):
        """Return the status of an answer to /healthcheck, which comes soon."""
        return self.parts.until(lambda: self.parts.call('GET', '/healthcheck', prefix=''), 'an answer')[0]

    def test_health_is_answered_while_all_processes_are_held_and_no_request_is_lost(self):
        self.hold_one()
        for _ in range(5):
            self.assertEqual(200, self.health(), 'the other process answers')
        self.hold_one()
        with concurrent.futures.ThreadPoolExecutor() as crowd, socket.socket() as silent:
            silent.connect(('127.0.0.1', self.parts.port))
            waits = crowd.submit(self.parts.call, 'GET', '/shares')
            for _ in range(2):
                self.assertEqual(200, self.health())
            self.away.touch()
            self.assertEqual(503, self.health(), 'the check has its settings')
            self.away.unlink()
            self.assertEqual({*self.pids}, {*self.children(2)}, 'nobody else has answered')
            self.assertFalse(waits.done())
            for child in self.pids.values():
                child.kill()
            self.assertEqual(200, waits.result(waiting.LIMIT)[0], 'the request has waited for a process')
            silent.settimeout(waiting.LIMIT)
            silent.sendall(b'GET /healthcheck HTTP/1.0\r\n\r\n')
            self.assertIn(b' 200 ', silent.recv(100), 'a client that sent nothing yet has waited, too')
        self.assertEqual(1, self.parts.log.read_text().count('their master answers /healthcheck'))

    def test_term_ends_held_processes_within_the_graceful_time(self):
        for _ in self.pids:
            self.hold_one()
        self.api.terminate()
        self.assertEqual(0, self.api.wait(timeout=waiting.LIMIT), self.parts.tail())
        for child in self.pids.values():
            self.assertFalse(child.is_running())
        self.assertIn('Processes did not end within 1 s', self.parts.log.read_text())
