# SPDX-License-Identifier: Apache-2.0
"""A server that is away, or does not answer, is an error within its time and no endless wait."""

import socket
import time
from pathlib import Path

import fixtures
import testtools

from manila_lite.drivers.file_servers import ganesha_dbus
from manila_lite.host.commands import CommandFailed
from manila_lite.tests.services.nfs_cluster import Bus


class Unreachable(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.path = Path(self.useFixture(fixtures.TempDir()).path) / 'bus'
        self.manager = ganesha_dbus.ExportManager(self.path)

    def listen(self):
        server = socket.socket(socket.AF_UNIX)
        self.addCleanup(server.close)
        server.bind(str(self.path))
        server.listen()
        return server

    def test_call_without_a_socket_fails_and_names_the_method(self):
        refused = self.assertRaises(CommandFailed, self.manager.shown)
        self.assertIn('ShowExports', str(refused))

    def test_call_to_a_closed_socket_fails(self):
        self.listen().close()
        self.assertRaises(CommandFailed, self.manager.apply, 'AddExport', Path('file'), 1)

    def test_call_without_an_answer_fails_within_its_time(self):
        self.listen()
        self.patch(ganesha_dbus, '_SECONDS', 0.2)
        began = time.monotonic()
        self.assertRaises(CommandFailed, self.manager.shown)
        self.assertLess(time.monotonic() - began, 10)


class Starting(testtools.TestCase):
    """A bus that an NFS-Ganesha which is being started has not joined yet."""

    def test_nobody_says_that_an_export_is_not_served(self):
        manager = ganesha_dbus.ExportManager(self.useFixture(Bus()).home / 'socket')
        refused = self.assertRaises(CommandFailed, manager.displayed, [1])
        self.assertIn('ServiceUnknown', str(refused))
