# SPDX-License-Identifier: Apache-2.0
"""The server of metadata: a thread for each guest, in the guest's own network namespace, where only this guest is.

It answers one request at a time, in bounded time, and then pauses: so a guest has few answers a second, whatever it sends, and
keeps nobody waiting but itself. No process is started for it.
"""

import contextlib
import http.server
import io
import select
import socket
import threading
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from manila_lite import errors
from manila_lite.host import namespaces
from manila_lite.host.commands import CommandFailed, run
from manila_lite.siblings.compute.drivers import dhcp

#: Seconds for one request and its answer; bytes of its head; seconds between two of them; requests that wait.
_SECONDS, _HEAD, _PAUSE, _WAITING = 5.0, 8192, 0.05, 8
#: Milliseconds after which the end is noticed.
_LOOK = 500
_MOST_DATAGRAM = 2048


class _Answer(http.server.BaseHTTPRequestHandler):
    """The answer to one request: a file, or the names in a directory."""

    def __init__(self, head: bytes, files: Mapping[str, bytes]):
        self.sent = io.BytesIO()
        self.rfile, self.wfile = io.BytesIO(head), self.sent
        self._files = files
        self.client_address = ('guest', 0)
        self.handle()

    def do_GET(self) -> None:
        """Answer with a file or a list."""
        wanted = '/'.join(part for part in self.path.partition('?')[0].split('/') if part)
        content = self._files.get(wanted)
        kind = 'application/json' if wanted.endswith('.json') else 'text/plain'
        if content is None:
            content, kind = _names(self._files, wanted), 'text/plain'
        if content is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header('Content-Type', kind)
        self.send_header('Content-Length', str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the base class
        """Log nothing: a guest may ask as often as it likes, and must not fill the host's log."""


def answer(head: bytes, files: Mapping[str, bytes]) -> bytes:
    """Return the answer to the head of a request."""
    return _Answer(head, files).sent.getvalue()


def _names(known: Mapping[str, bytes], folder: str) -> bytes | None:
    """Return the names in a directory, one a line; None if there is no such directory."""
    start = f'{folder}/' if folder else ''
    names = sorted({path.removeprefix(start).partition('/')[0] for path in known if path.startswith(start)})
    return '\n'.join(names).encode() if names else None


class _Listener(threading.Thread):
    """The server of one guest. ``place``: the number of its namespace, which no other guest ever has."""

    def __init__(
        self, place: int, http_socket: socket.socket, dhcp_socket: socket.socket, files: Mapping[str, bytes]
    ):
        super().__init__(name='metadata', daemon=True)
        self.place, self.files = place, files
        self._http, self._dhcp = http_socket, dhcp_socket
        self._over = threading.Event()
        self._peer: socket.socket | None = None

    def end(self) -> None:
        """End soon, also in the midst of an answer."""
        self._over.set()
        if peer := self._peer:
            with contextlib.suppress(OSError):
                peer.shutdown(socket.SHUT_RDWR)

    def run(self) -> None:
        """Answer, until the end."""
        with self._http, self._dhcp:
            poll = select.poll()
            for one in (self._http, self._dhcp):
                poll.register(one, select.POLLIN)
            while not self._over.is_set():
                for fd, _ in poll.poll(_LOOK):
                    with contextlib.suppress(OSError):
                        (self._serve if fd == self._http.fileno() else self._lease)()
                    self._over.wait(_PAUSE)

    def _serve(self) -> None:
        peer, _ = self._http.accept()
        self._peer = peer
        end = time.monotonic() + _SECONDS
        head = b''
        with peer:
            if self._over.is_set():  # perhaps since before ``end`` could see the peer
                return
            while b'\r\n\r\n' not in head and len(head) < _HEAD:
                peer.settimeout(max(end - time.monotonic(), 0.001))
                part = peer.recv(_HEAD - len(head))
                if not part:
                    return
                head += part
            peer.settimeout(max(end - time.monotonic(), 0.001))
            peer.sendall(answer(head, self.files))

    def _lease(self) -> None:
        if reply := dhcp.reply(self._dhcp.recv(_MOST_DATAGRAM)):
            self._dhcp.sendto(reply, ('255.255.255.255', dhcp.CLIENT))


class Metadata:
    """The servers of all guests of this process. Safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._listeners: dict[str, _Listener] = {}

    def serve(self, guest: str, pid: int, tap: str, files: Mapping[str, bytes]) -> None:
        """Serve these files to a guest from now on. ``pid``: the process whose namespace has the guest's interface ``tap``.

        :raises errors.Unavailable: the process has ended.
        """
        try:
            with self._lock:
                place = namespaces.of_process(pid)
                number = place.stat().st_ino
                listener = self._listeners.get(guest)
                if listener is None or listener.place != number or not listener.is_alive():
                    if listener:
                        listener.end()
                    listener = self._listeners[guest] = _listener(number, place, tap, files)
                listener.files = files
        except (OSError, CommandFailed) as bad:
            raise errors.Unavailable(f'The metadata of {guest} cannot be served: {bad}') from bad

    def end(self, guest: str) -> None:
        """Stop serving a guest."""
        self._end([guest])

    def end_all(self) -> None:
        """Stop serving all guests."""
        self._end(list(self._listeners))

    def _end(self, guests: Iterable[str]) -> None:
        with self._lock:
            ending = [listener for guest in guests if (listener := self._listeners.pop(guest, None))]
        for listener in ending:
            listener.end()
        for listener in ending:
            listener.join()


def _listener(number: int, place: Path, tap: str, files: Mapping[str, bytes]) -> _Listener:
    """Start a server in the namespace, whose interface gets the address of the metadata."""
    for words in (
        ('address', 'replace', f'{dhcp.SERVER}/{dhcp.LENGTH}', 'dev', tap),
        ('link', 'set', tap, 'up'),
    ):
        run('nsenter', f'--net={place}', 'ip', *words)
    # The agent before may not have ended yet: each of the two answers then.
    http_socket, dhcp_socket = namespaces.inside(
        place,
        lambda: (
            socket.create_server((dhcp.SERVER, 80), backlog=_WAITING, reuse_port=True),
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
        ),
    )
    for option in (socket.SO_REUSEPORT, socket.SO_BROADCAST):
        dhcp_socket.setsockopt(socket.SOL_SOCKET, option, 1)
    dhcp_socket.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, tap.encode())
    dhcp_socket.bind(('', dhcp.PORT))
    made = _Listener(number, http_socket, dhcp_socket, files)
    made.start()
    return made
