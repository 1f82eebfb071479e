# SPDX-License-Identifier: Apache-2.0
"""memcached on loopback: the common cache of valid tokens for the processes of an API."""

import socket

from manila_lite.tests.services.daemon import Daemon, program


class Memcached(Daemon):
    """An empty cache."""

    USER = 'memcache'

    def need(self) -> None:
        """Find ``memcached``."""
        self._program = program('memcached', '/usr/bin')

    def command(self) -> list[str]:
        """Return the command line of memcached."""
        return [self._program, '-l', '127.0.0.1', '-p', str(self.ports['port']), '-U', '0', '-m', '16']

    def answers(self) -> bool:
        """Say whether memcached accepts connections."""
        try:
            # limit: a try; the caller repeats it
            socket.create_connection(('127.0.0.1', self.ports['port']), timeout=5).close()
        except OSError:
            return False
        return True

    @property
    def address(self) -> str:
        """Return host and port."""
        return f'127.0.0.1:{self.ports["port"]}'
