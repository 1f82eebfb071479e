# SPDX-License-Identifier: Apache-2.0
"""One connection of the built-in server: its socket, its input, and its unsent output."""

import enum
import ipaddress
import logging
import socket
import struct
from typing import Any

from manila_lite.api.server import framing, request_reader

LOG = logging.getLogger(__name__)

#: Bytes read in one call, and pieces sent in one call.
_READ, _PIECES = 65536, 64
#: Prefix length of an IPv6 network that belongs to one customer of a provider.
_PREFIX = 64


class ConnectionState(enum.Enum):
    """The event that a connection waits for."""

    IDLE = 'idle'  #: a request
    HEAD = 'headers'  #: the rest of the headers
    BODY = 'body'  #: the rest of the body
    WORKING = (
        'working'  #: the application; a worker thread has the connection, and no other thread touches it
    )
    LISTEN = 'listen'  #: events, whose listener is kept in the thread of all connections
    ANSWER = 'answer'  #: the client, which has not taken all of the answer
    LINGER = 'linger'  #: the client, which may still be sending unwanted data


class Connection:
    """A connection. ``surplus``: over the limit, so it gets a 503. ``lingers``: its client may still send when it ends."""

    ssl_env = None

    def __init__(self, sock: socket.socket, peer: tuple[Any, ...], settings: Any, since: float):
        sock.setblocking(False)
        self.socket = sock
        self.fd = sock.fileno()
        self.remote_addr, self.remote_port = peer[:2]
        self.origin = origin(self.remote_addr)
        self.state, self.since = ConnectionState.IDLE, since
        self.surplus = self.lingers = self.ends = False
        self.request: framing.HttpRequest | None = None
        #: Gives the rest of the answer.
        self.listener: Any = None
        self.rfile: Any = None
        self.wfile = self
        self.held = self.skipped = 0
        self.incoming = request_reader.RequestReader(settings, self, settings.max_request_header_size)
        self._unsent: list[bytes | memoryview] = []

    @property
    def size(self) -> int:
        """Bytes of memory that the connection holds."""
        return len(self.incoming) + sum(map(len, self._unsent))

    def read(self) -> bool:
        """Read available input. Return whether more may follow.

        :raises OSError: there is no input, or the connection is broken.
        """
        data = self.socket.recv(_READ)
        self.incoming.add(data)
        return bool(data)

    def skip(self) -> int:
        """Read and discard available input. Return the number of bytes.

        :raises OSError: there is no input, or the connection is broken.
        """
        got = len(self.socket.recv(_READ))
        self.skipped += got
        return got

    def hang_up(self) -> None:
        """Stop sending, and discard unread input.

        :raises OSError: the client is gone.
        """
        self.socket.shutdown(socket.SHUT_WR)
        self.incoming.forget()

    def write(self, data: bytes) -> None:
        """Queue data to be sent."""
        if data:
            self._unsent.append(data)

    def flush(self) -> bool:
        """Send as much as the client takes. Return whether that is all.

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
        """Let the application answer the request, and send as much as the client takes. Never raises."""
        request = self.request
        assert request is not None  # a worker has the connection for it
        try:
            request.respond()
        except Exception:
            LOG.exception('A request was not answered')
            if not request.sent_headers:
                request.simple_response('500 Internal Server Error')
            request.close_connection = True
            self.forget_listener()
        self.listener, request.listener = request.listener, None
        self.ends = request.close_connection
        self.lingers = self.ends and (request.trailers or len(self.incoming) > 0)
        try:
            self.flush()
        except OSError:
            self._unsent.clear()
            self.ends, self.lingers = True, False
            self.forget_listener()

    def close(self, *, abort: bool = False) -> None:
        """Close the connection. ``abort``: the kernel discards unsent data, too."""
        if abort:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
        self.socket.close()
        self._unsent.clear()
        self.forget_listener()

    def forget_listener(self) -> None:
        """Have the connection get no more events."""
        for owner in (self, self.request):
            if owner is not None and owner.listener is not None:
                owner.listener.close()
                owner.listener = None


def origin(address: str) -> str:
    """Return the key under which all addresses of one client are counted."""
    address = address.partition('%')[0]
    if ':' not in address:
        return address
    parsed = ipaddress.IPv6Address(address)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.IPv6Network((parsed, _PREFIX), strict=False))
