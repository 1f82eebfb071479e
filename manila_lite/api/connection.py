# SPDX-License-Identifier: Apache-2.0
"""One connection of the built-in server: its socket, what came on it, and what is still to be sent."""

import enum
import ipaddress
import logging
import socket
import struct
from typing import Any

from manila_lite.api import framing, incoming

LOG = logging.getLogger(__name__)

#: Bytes that are read at once, and pieces that are sent at once.
_READ, _PIECES = 65536, 64
#: Bits of an IPv6 address that one customer of a provider has to himself, at least.
_PREFIX = 64


class State(enum.Enum):
    """What a connection waits for."""

    IDLE = 'idle'           #: a request
    HEAD = 'headers'        #: the rest of the headers
    BODY = 'body'           #: the rest of the body
    WORKING = 'working'     #: the application; a worker thread has the connection, and nobody else touches it
    ANSWER = 'answer'       #: the client, which has not taken all of the answer
    LINGER = 'linger'       #: the client, which may still be sending what nobody wants


class Connection:
    """A connection. ``surplus``: there are too many, so it gets a 503. ``lingers``: its client may be sending when it ends."""

    ssl_env = None

    def __init__(self, sock: socket.socket, peer: tuple, settings: Any, since: float):
        sock.setblocking(False)
        self.socket = sock
        self.fd = sock.fileno()
        self.remote_addr, self.remote_port = peer[:2]
        self.origin = origin(self.remote_addr)
        self.state, self.since = State.IDLE, since
        self.surplus = self.lingers = self.ends = False
        self.request: framing.Request | None = None
        self.rfile: Any = None
        self.wfile = self
        self.held = self.skipped = 0
        self.incoming = incoming.Incoming(settings, self, settings.max_request_header_size)
        self._unsent: list[bytes | memoryview] = []

    @property
    def size(self) -> int:
        """Bytes of memory that it holds."""
        return len(self.incoming) + sum(map(len, self._unsent))

    def read(self) -> bool:
        """What came is taken; returns whether more may follow. :raises OSError: nothing came, or it is broken."""
        data = self.socket.recv(_READ)
        self.incoming.add(data)
        return bool(data)

    def skip(self) -> int:
        """What came is forgotten, and counted; returns how much it was. :raises OSError: nothing came, or it is broken."""
        got = len(self.socket.recv(_READ))
        self.skipped += got
        return got

    def hang_up(self) -> None:
        """Nothing more is sent, and what came is forgotten. :raises OSError: the client is gone."""
        self.socket.shutdown(socket.SHUT_WR)
        self.incoming.forget()

    def write(self, data: bytes) -> None:
        """It is sent in its turn."""
        if data:
            self._unsent.append(data)

    def flush(self) -> bool:
        """As much as the client takes is sent; returns whether that is all.

        :raises OSError: the client is gone.
        """
        while self._unsent:
            try:
                sent = self.socket.sendmsg(self._unsent[:_PIECES])
            except (BlockingIOError, InterruptedError):
                return False
            while sent:
                first = self._unsent[0]
                if sent < len(first):
                    self._unsent[0] = memoryview(first)[sent:]
                    break
                sent -= len(first)
                del self._unsent[0]
        return True

    def answer(self) -> None:
        """The request has its answer, and as much of that is sent as the client takes. Never raises."""
        request = self.request
        try:
            request.respond()
        except Exception:
            LOG.exception('A request was not answered')
            if not request.sent_headers:
                request.simple_response('500 Internal Server Error')
            request.close_connection = True
        self.ends = request.close_connection
        self.lingers = self.ends and (request.trailers or len(self.incoming) > 0)
        try:
            self.flush()
        except OSError:
            self._unsent.clear()
            self.ends, self.lingers = True, False

    def close(self, *, abort: bool = False) -> None:
        """It is gone. ``abort``: the kernel does not try to send the rest either."""
        if abort:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
        self.socket.close()
        self._unsent.clear()


def origin(address: str) -> str:
    """Return what all addresses of one client have in common."""
    address = address.partition('%')[0]
    if ':' not in address:
        return address
    parsed = ipaddress.IPv6Address(address)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.IPv6Network((parsed, _PREFIX), strict=False))
