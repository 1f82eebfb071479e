# SPDX-License-Identifier: Apache-2.0
"""Clients that make the HTTP server wait for them, by kind; and the honest client that needs an answer meanwhile."""

import base64
import contextlib
import http.client
import resource
import socket
import threading
import time
from typing import Self

from manila_lite.tests import waiting

_COOKIES = b'GET /v2/ HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Manila-Lite-Console: 1\r\nCookie: %s\r\n\r\n'
#: The user whose password is guessed.
GUESSED = 'p0'
_GUESS = b'GET /v2/shares HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Basic %s\r\n\r\n' % base64.b64encode(
    f'{GUESSED}:wrong'.encode()
)
#: Bytes that a client of each kind sends when it has connected, and then again and again: if it does not read its answer, only
#: that tells it that the connection has ended.
ATTACKS = {
    'idle': (b'', b''),
    'slow headers': (b'GET /v2/shares HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ', b'a'),
    'slow bodies': (b'POST /v2/shares HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9999\r\n\r\n', b' '),
    'slow chunks': (
        b'POST /v2/shares HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n',
        b'1\r\n \r\n',
    ),
    'bad requests': (b'nonsense\r\n\r\nand more', b' of it'),
    'blanks': (b'GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nA:' + b' ' * 2500 + b'\0\r\n\r\n', b' '),
    'cookies': (_COOKIES % (b'a' * 40_000), b' '),
    'allowed cookies': (_COOKIES % (b'a' * 8000), b' '),
    'lines of chunks': (
        b'POST /v2/shares HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n1;',
        b'a' * 900,
    ),
    'unread answers': (b'GET /openapi.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n' * 200, b''),
    'guesses': (_GUESS, _GUESS),
}
#: Number of addresses from which a kind comes, if that is not the one of the others.
_ADDRESSES = {'guesses': 20}


def may_open(number: int) -> None:
    """Raise this process's limit of descriptors to ``number``."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= soft < number:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(number, hard) if hard >= 0 else number, hard))


class Crowd(threading.Thread):
    """A number of clients of one kind, from ``start`` to ``stop``. A client that is disconnected comes again.
    ``pause``: seconds between two sends of a client.
    """

    def __init__(self, port: int, kind: str, number: int, pause: float = 0.25):
        super().__init__(name=kind, daemon=True)
        self._port, self._number, self._pause = port, number, pause
        self._first, self._then = ATTACKS[kind]
        self._clients: list[socket.socket] = []
        self._ended = threading.Event()
        self.made = 0
        may_open(2 * number + 500)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_) -> None:
        self.stop()

    def run(self) -> None:
        """Send the bytes of all clients again and again, until told to stop."""
        while not self._ended.is_set():
            self._clients = [client for client in self._clients if self._speaks(client)]
            while len(self._clients) < self._number and not self._ended.is_set():
                if not self._come():
                    break
            self._ended.wait(self._pause)
        for client in self._clients:
            client.close()

    def stop(self) -> None:
        """Stop all clients."""
        self._ended.set()
        self.join()

    def _come(self) -> bool:
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.settimeout(0.5)
        try:
            if number := _ADDRESSES.get(self.name):
                client.bind((f'127.0.1.{self.made % number + 1}', 0))
            client.connect(('127.0.0.1', self._port))
            client.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                client.send(self._first)
        except OSError:
            client.close()
            return False
        self._clients.append(client)
        self.made += 1
        return True

    def _speaks(self, client: socket.socket) -> bool:
        try:
            if self._then:
                client.send(self._then)
            gone = not client.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            gone = False
        except OSError:
            gone = True
        if gone:
            client.close()
        return not gone


def ask(port: int, path: str, token: str = '', patience: float = waiting.LIMIT) -> tuple[int, float]:
    """Return the status of the answer, or 0 without one, and the seconds until it came."""
    began = time.monotonic()
    connection = http.client.HTTPConnection('127.0.0.1', port, timeout=patience)
    try:
        connection.request('GET', path, headers={'X-Auth-Token': token})
        answer = connection.getresponse()
        answer.read()
        status = answer.status
    except (OSError, http.client.HTTPException):
        status = 0
    finally:
        connection.close()
    return status, time.monotonic() - began
