# SPDX-License-Identifier: Apache-2.0
"""The NFS server's settings and state, without running it."""

from pathlib import Path

import fixtures
import testtools

from manila_lite.drivers.file_servers import ganesha
from manila_lite.drivers.linux.protocols.vfs import Vfs


def server(state, **changes):
    return ganesha.Ganesha(
        Path(state),
        changes.pop('port', 2049),
        changes.pop('fsal', None) or Vfs(Path(state), 64),
        **{'netns': None, 'graceless': False, 'grace': 30} | changes,
    )


class Server(testtools.TestCase):
    def test_a_socket_path_is_never_too_long(self):
        self.assertEqual(Path('/var/lib/x/bus'), server('/var/lib/x')._socket)
        paths = {server('/var/' + 'long' * length)._socket for length in (30, 40, 50)}
        self.assertEqual(3, len(paths))
        for path in paths:
            self.assertLess(len(str(path)), 108)

    def test_mark_differs_for_each_changed_option(self):
        marks = {
            server('/x', **change)._start_key
            for change in ({}, {'port': 2050}, {'netns': 'blue'}, {'graceless': True}, {'grace': 31})
        }
        self.assertEqual(5, len(marks))
        self.assertEqual(server('/x')._start_key, server('/x')._start_key)

    def test_stop_without_a_running_server_is_no_error(self):
        state = self.useFixture(fixtures.TempDir()).path
        nfs = server(state)
        self.assertFalse(nfs.running)
        nfs.stop()
        nfs.stop()
