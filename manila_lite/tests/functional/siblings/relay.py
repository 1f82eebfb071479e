# SPDX-License-Identifier: Apache-2.0
"""Relay to a server that fails on demand: it drops connections, or answers 503 as a proxy without its server."""

import contextlib
import socket
import socketserver
import threading

import fixtures

_AWAY = b'HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n'


class Relay(fixtures.Fixture):
    """Relay from ``port`` to the port ``there``; the next ``lost`` connections are dropped, then ``away`` get 503."""

    def __init__(self, there):
        super().__init__()
        self._there = there
        self.lost = self.away = self.met = 0
        self._open = []

    def _setUp(self):
        relay = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self):
                relay.pass_on(self.request)

        server = socketserver.ThreadingTCPServer(('127.0.0.1', 0), Handler)
        server.daemon_threads = True
        self.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, kwargs={'poll_interval': 0.02}, daemon=True)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)

    def hang_up(self):
        """Drop all open connections."""
        while self._open:
            with contextlib.suppress(OSError):
                self._open.pop().shutdown(socket.SHUT_RDWR)

    def pass_on(self, client):
        """Drop, refuse or relay one connection."""
        if self.lost > 0:
            self.lost -= 1
            self.met += 1
        elif self.away > 0:
            self.away -= 1
            self.met += 1
            client.recv(65536)
            client.sendall(_AWAY)
        else:
            self._open.append(client)
            with socket.create_connection(('127.0.0.1', self._there)) as server, contextlib.suppress(OSError):
                back = threading.Thread(target=_copy, args=(server, client), daemon=True)
                back.start()
                _copy(client, server)
                back.join()


def _copy(source, target):
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)
