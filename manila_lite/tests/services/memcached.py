# SPDX-License-Identifier: Apache-2.0
"""memcached on loopback: where the processes of an API remember together which tokens were good."""

import socket

from manila_lite.tests.services.daemon import Daemon, program


class Memcached(Daemon):
    """An empty cache."""

    USER = 'memcache'

    def need(self) -> None:
        """``memcached`` is there."""
        self._program = program('memcached', '/usr/bin')

    def command(self) -> list[str]:
        """Return its command line."""
        return [self._program, '-l', '127.0.0.1', '-p', str(self.ports['port']), '-U', '0', '-m', '16']

    def answers(self) -> bool:
        """It takes connections."""
        try:
            socket.create_connection(('127.0.0.1', self.ports['port']), timeout=5).close()
        except OSError:
            return False
        return True

    @property
    def address(self) -> str:
        """Host and port."""
        return f'127.0.0.1:{self.ports["port"]}'
