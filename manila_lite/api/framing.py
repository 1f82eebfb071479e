# SPDX-License-Identifier: Apache-2.0
"""Where a request on the wire ends. What a proxy in front could read in another way than we do is refused: a second request
could be hidden in it.
"""

import contextlib
import re
import socket
import time
from typing import Any

from cheroot import server

#: A header as RFC 9110 has it: no blank before the colon, no controls, no continuation on the next line.
_HEADER = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*?)[ \t]*\r\n")
_CHUNK = re.compile(rb'[0-9a-fA-F]{1,8}[ \t]*(;[\t\x20-\x7e\x80-\xff]*)?\r\n')
_LENGTH, _CODING = b'Content-Length', b'Transfer-Encoding'
#: Of these there is one at most.
_ONCE = {_LENGTH, _CODING, b'Host', b'Authorization', b'X-Auth-Token', b'X-Service-Token', b'Origin'}
#: Seconds and bytes that a client is listened to after an answer to what was not read to its end.
LINGER, LINGER_BYTES = 2.0, 1 << 24


class Headers(server.HeaderReader):
    """Reads headers. Those with an underscore are left out, since WSGI takes it for a dash."""

    def __call__(self, rfile: Any, hdict: dict[bytes, bytes] | None = None) -> dict[bytes, bytes]:
        """Return the headers up to the empty line.

        :raises ValueError: they can be read in several ways, or in none.
        """
        found = {} if hdict is None else hdict
        while (line := rfile.readline()) != b'\r\n':
            matched = _HEADER.fullmatch(line)
            if matched is None:
                raise ValueError('Illegal header line.')
            name, value = matched[1].title(), matched[2]
            if b'_' in name:
                continue
            if name in _ONCE and name in found:
                raise ValueError(f'{name.decode()} is there twice.')
            if name in found and name in server.comma_separated_headers:
                value = b', '.join((found[name], value))
            found[name] = value
        _check_body(found)
        return found


def _check_body(found: dict[bytes, bytes]) -> None:
    length, coding = found.get(_LENGTH), found.get(_CODING)
    if length is not None and coding is not None:
        raise ValueError('Content-Length and Transfer-Encoding exclude each other.')
    if length is not None and not length.isdigit():
        raise ValueError('Malformed Content-Length Header.')
    if coding is not None and coding.lower() != b'chunked':
        raise ValueError('Transfer-Encoding: only "chunked" is understood.')


class _Chunks:
    """A body in chunks, whose sizes are hexadecimal digits and nothing else that Python takes for a number."""

    def __init__(self, rfile: Any):
        self._rfile = rfile
        self.read = rfile.read

    def readline(self) -> bytes:
        """Return the line that says how long the next chunk is.

        :raises ValueError: it does not.
        """
        line = self._rfile.readline(1024)
        if _CHUNK.fullmatch(line) is None:
            raise ValueError('a chunk has no size')
        return line


class Request(server.HTTPRequest):
    """One request. After a body in chunks the connection ends, for nobody knows whether all of it was read."""

    header_reader = Headers()

    def read_request_line(self) -> bool:
        """Return whether there is a first line that can be read."""
        try:
            return super().read_request_line()
        except ValueError:      # of an address such as http://[::1/
            self.simple_response('400 Bad Request', 'Malformed Request-URI')
            return False

    def simple_response(self, status: str, msg: str = '') -> None:
        """Refuse it, whatever of it is still to come."""
        super().simple_response(status, msg)
        self.conn.unread = True

    def respond(self) -> None:
        """Answer it."""
        if self.chunked_read:
            self._respond_to_chunks()
            self.conn.unread |= not self.rfile.closed
        else:
            super().respond()
            self.conn.unread |= bool(getattr(self.rfile, 'remaining', 0))

    def _respond_to_chunks(self) -> None:
        self.close_connection = True
        self.rfile = server.ChunkedRFile(_Chunks(self.conn.rfile), self.server.max_request_body_size)
        self.server.gateway(self).respond()
        if self.ready:
            self.ensure_headers_sent()
        if self.chunked_write:
            self.conn.wfile.write(b'0\r\n\r\n')


class Connection(server.HTTPConnection):
    """A connection with such requests. ``unread``: it ends, and the client may still be sending."""

    RequestHandlerClass = Request
    unread = False

    def communicate(self) -> bool:
        """Answer a request; returns whether another may follow."""
        goes_on = super().communicate()
        if self.unread:
            with contextlib.suppress(OSError):
                self._hear_out()
        return goes_on and not self.unread

    def _hear_out(self) -> None:
        """A client that sends, and reads when it has sent, finds the answer: to hang up on it at once would destroy that."""
        self.socket.shutdown(socket.SHUT_WR)
        end, left = time.monotonic() + LINGER, LINGER_BYTES
        while left > 0 and (seconds := end - time.monotonic()) > 0:
            self.socket.settimeout(seconds)
            got = len(self.socket.recv(65536))
            left = left - got if got else 0
