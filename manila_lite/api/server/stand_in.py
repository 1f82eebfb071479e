# SPDX-License-Identifier: Apache-2.0
"""The master answers ``/healthcheck`` while a thread holds the interpreter in every process of an API.

Until the watchdog has ended such a process, nobody else would, and a load balancer would take the host for dead. Of what
clients send the master looks at the first bytes only. All other requests wait for a process, as they would without it.
"""

import contextlib
import logging
import socket
import threading
import time

import webob

from manila_lite.api.server.listener import Listener

LOG = logging.getLogger(__name__)

#: Seconds between two looks; seconds of silence that are too many; and seconds for a client's first bytes to come.
_LOOK, _SILENT, _SETTLE = 0.5, 1.5, 0.05
#: Connections that are taken in one silence. The kernel can keep more on their way to a process.
_MOST = 128
_BEGIN, _HEAD = 32, 65536
_PATHS = (b'/healthcheck', b'/healthcheck/')


class StandIn(threading.Thread):
    """Stands in for the processes of a listener.

    ``forking`` is held while the master forks: a child gets no connection of it.
    """

    def __init__(self, listener: Listener, forking: threading.Lock):
        super().__init__(name='stand-in', daemon=True)
        self._listener, self._forking = listener, forking
        self._room, self._stands = _MOST, False

    def run(self) -> None:
        """Look again and again, until the listener is closed."""
        while self._listener.socket.fileno() >= 0:
            time.sleep(_LOOK)
            if self._listener.silent() <= _SILENT:
                self._room, self._stands = _MOST, False
                continue
            if not self._stands:
                LOG.warning(
                    'No process of the API has done anything for %s s: their master answers /healthcheck',
                    _SILENT,
                )
            self._stands = True
            self._stand_in()

    def _stand_in(self) -> None:
        with self._forking, contextlib.ExitStack() as taken:
            connections = [taken.enter_context(one) for one in self._accepted()]
            time.sleep(_SETTLE)
            for one in connections:
                with contextlib.suppress(OSError):  # the client is gone
                    self._serve(one)

    def _accepted(self) -> list[socket.socket]:
        found: list[socket.socket] = []
        with contextlib.suppress(OSError):  # no more, or the end
            while self._room > 0:
                found.append(self._listener.socket.accept()[0])
                self._room -= 1
        return found

    def _serve(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        if not _asks_health(connection):
            self._listener.pass_on(connection)
            return
        connection.recv(_HEAD)  # the kernel resets a connection of which something was not read
        connection.sendall(self._answer(str(connection.getpeername()[0])))
        connection.shutdown(socket.SHUT_WR)

    def _answer(self, address: str) -> bytes:
        """Return the answer of the application, which the master has made, too: its check may have settings."""
        answer = webob.Request.blank(_PATHS[0].decode(), {'REMOTE_ADDR': address}).get_response(
            self._listener.app
        )
        answer.headers['Connection'] = 'close'
        head = ''.join(f'{name}: {value}\r\n' for name, value in answer.headers.items())
        body: bytes = answer.body
        return f'HTTP/1.1 {answer.status}\r\n{head}\r\n'.encode() + body


def _asks_health(connection: socket.socket) -> bool:
    try:
        words = connection.recv(_BEGIN, socket.MSG_PEEK).split(b' ', 2)
    except BlockingIOError:
        return False
    return len(words) == 3 and words[0] == b'GET' and words[1] in _PATHS
