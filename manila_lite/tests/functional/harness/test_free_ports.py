# SPDX-License-Identifier: Apache-2.0
"""Ports of test services: no two tests get the same one, in whatever process they are."""

import socket
import subprocess
import sys

import testtools

from manila_lite.tests import process

_ASK = 'import sys; from manila_lite.tests import process; print([process.reserve(int(port)) for port in sys.argv[1:]])'


class FreePortsTest(testtools.TestCase):
    """Ports between their reservation and the start of the service."""

    def test_no_other_process_gets_a_port_that_is_reserved(self):
        mine = process.free_ports(3)
        ports = [str(port) for port in range(mine, mine + 3)]
        said = subprocess.run(
            [sys.executable, '-c', _ASK, *ports], capture_output=True, text=True, check=True
        ).stdout
        self.assertEqual('[False, False, False]', said.strip())

    def test_port_is_free_again_when_its_process_has_ended(self):
        port = process.free_port()
        process._mine.discard(port)
        process.fcntl.lockf(process._ports(), process.fcntl.LOCK_UN, 1, port)
        said = [
            subprocess.run(
                [sys.executable, '-c', _ASK, str(port)], capture_output=True, text=True, check=True
            ).stdout
            for _ in range(2)
        ]
        self.assertEqual(['[True]\n'] * 2, said)

    def test_this_process_gets_no_port_twice(self):
        port = process.free_port()
        self.assertFalse(process.reserve(port))
        with socket.create_server(('127.0.0.1', port)) as listener:
            self.assertEqual(port, listener.getsockname()[1])
