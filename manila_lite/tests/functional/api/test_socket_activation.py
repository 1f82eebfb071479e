# SPDX-License-Identifier: Apache-2.0
"""With a socket of systemd, a restart of the API refuses no connection."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys

from manila_lite.tests import process, waiting
from manila_lite.tests.contract.test_checks import ROOT
from manila_lite.tests.functional.api import test_restarts

#: Becomes the API as systemd starts it: with the socket as descriptor 3, and its own process id in the environment.
_START = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.environ |= {'LISTEN_PID': str(os.getpid() + int(sys.argv[2])), 'LISTEN_FDS': sys.argv[3], 'LISTEN_FDNAMES': 'api'}
os.execv(sys.executable, [sys.executable, '-m', 'manila_lite.cmd.api', *sys.argv[4:]])
"""


class SocketActivation(test_restarts.RestartsTest):
    """This test has the socket, as systemd would."""

    def opened(self, address='127.0.0.1', family=socket.AF_INET):
        """Open a socket."""
        opened = socket.create_server((address, self.parts.port), family=family)
        self.addCleanup(opened.close)
        return opened

    def start(self, given, number=1, other=0):
        """Start the API with a socket. ``other``: what the process id in the environment is wrong by."""
        with self.parts.log.open('ab') as log:
            words = [
                sys.executable,
                '-c',
                _START,
                given.fileno(),
                other,
                number,
                f'--config-file={self.parts.config}',
            ]
            started = subprocess.Popen(
                [str(word) for word in words],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(given.fileno(),),
                start_new_session=True,
            )
        self.parts.running.append(started)
        return started

    def refused(self, given, wanted, **more):
        self.assertEqual(1, self.start(given, **more).wait(waiting.LIMIT))
        self.assertRegex(self.parts.log.read_text(), wanted)

    def end(self):
        self.master.send_signal(signal.SIGTERM)
        self.assertEqual(0, self.master.wait(waiting.LIMIT), self.parts.tail())

    def test_every_request_is_answered_while_the_service_restarts(self):
        given = self.opened()
        # The address of the socket counts, not that of the options.
        self.parts.edit(f'listen_port = {self.parts.port}', f'listen_port = {process.free_port()}')
        self.master = self.start(given)
        self.parts.until(
            lambda: self.parts.answers() and len(self.workers()) == test_restarts.WORKERS, 'the API answers'
        )
        clients = self.clients()
        for _ in range(3):
            self.end()
            self.master = self.start(given)
            self.go_on(clients)
        self.all_answered(clients)
        self.assertNotIn('Not listening on', self.parts.log.read_text())
        for child in process.children(self.master):
            self.assertFalse({name for name in child.environ() if name.startswith('LISTEN_')})

    def test_connection_made_between_two_runs_is_answered_by_the_next(self):
        given = self.opened()
        with socket.create_connection(given.getsockname(), timeout=waiting.LIMIT) as early:
            early.sendall(b'GET /healthcheck HTTP/1.1\r\nHost: api\r\nConnection: close\r\n\r\n')
            self.master = self.start(given)
            self.assertTrue(early.recv(100).startswith(b'HTTP/1.1 200 '), self.parts.tail())
        self.end()

    def test_socket_for_another_process_is_none(self):
        given = self.opened()
        # So it opens the address of its options, which this test has.
        self.refused(given, f'cannot listen on 127.0.0.1:{self.parts.port}', other=1)

    def test_useless_sockets_are_refused(self):
        given = self.opened()
        self.refused(given, 'systemd passed 2 sockets: .* one ListenStream', number=2)
        local = socket.socket(socket.AF_UNIX)
        self.addCleanup(local.close)
        local.bind(str(self.parts.state / 'socket'))
        local.listen()
        self.refused(local, 'no socket for TCP: ListenStream')
        quiet = socket.socket()
        self.addCleanup(quiet.close)
        self.refused(quiet, 'no socket for TCP: ListenStream')
        with open(os.devnull) as nothing:
            self.refused(nothing, 'systemd passed no socket: ')

    def test_strangers_are_no_administrators_at_the_address_of_the_socket(self):
        self.refused(self.opened('0.0.0.0'), 'ListenStream of the socket unit: auth_strategy noauth')

    def test_systemd_passes_sockets_in_this_way(self):
        program = shutil.which('systemd-socket-activate')
        if program is None:
            self.skipTest('systemd-socket-activate is not here')
        self.master = self.parts.run(
            'api',
            program,
            '--listen',
            f'127.0.0.1:{self.parts.port}',
            sys.executable,
            '-m',
            'manila_lite.cmd.api',
            f'--config-file={self.parts.config}',
        )
        self.parts.until(self.parts.answers, 'the API answers')
        self.end()

    def test_unit_has_the_address_of_the_options(self):
        unit = (ROOT / 'etc/manila_lite/systemd/manila-api.socket').read_text()
        self.assertEqual(['127.0.0.1:8786'], re.findall(r'(?m)^ListenStream=(.*)$', unit))
