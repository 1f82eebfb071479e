# SPDX-License-Identifier: Apache-2.0
"""A cable between a host of a test and a server on this machine, which can be cut."""

import contextlib
import socket
import threading

import fixtures

from manila_lite.tests import waiting

_MOST = 65536


class Cable(fixtures.Fixture):
    """A relay from the Unix socket ``place``, which hosts with networks of their own reach, to a port of the loopback.

    While it is cut, nothing passes, and nobody is told: connections stay, and new ones get no answer, as with a firewall
    that drops. What was sent meanwhile arrives when it is whole again. ``hang_up`` ends all connections.
    """

    def __init__(self, place, port):
        super().__init__()
        self._place, self._port = place, port
        self._whole = threading.Event()
        self._open = []

    def _setUp(self):
        self._whole.set()
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self._place))
        self._listener.listen(100)
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()
        self.addCleanup(self._end)

    def _end(self):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.mend()
        self.hang_up()
        self._thread.join(waiting.LIMIT)

    def cut(self):
        """Let nothing pass."""
        self._whole.clear()

    def mend(self):
        """Let all packets pass, also those that wait."""
        self._whole.set()

    def hang_up(self):
        """End all connections."""
        while self._open:
            with contextlib.suppress(OSError):
                self._open.pop().shutdown(socket.SHUT_RDWR)

    def _accept(self):
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._connect, args=(near,), daemon=True).start()

    def _connect(self, near):
        self._whole.wait()
        with near, contextlib.suppress(OSError), socket.create_connection(('127.0.0.1', self._port)) as far:
            self._open += [near, far]
            back = threading.Thread(target=self._copy, args=(far, near), daemon=True)
            back.start()
            self._copy(near, far)
            back.join()

    def _copy(self, source, target):
        with contextlib.suppress(OSError):
            while data := source.recv(_MOST):
                self._whole.wait()
                target.sendall(data)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)
