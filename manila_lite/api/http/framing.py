# SPDX-License-Identifier: Apache-2.0
"""The parser that finds the end of a request in the input.

Input that a proxy in front could read in another way is refused: a second request could be hidden in it.
"""

import re
from typing import Any

from cheroot import server

from manila_lite.api.request import LISTENER, LISTENS

#: Name and value of a header of RFC 9110: no blank before the colon, no control characters, no continuation on the next line.
_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(rb'[\t\x20-\x7e\x80-\xff]*')
#: Longest line of a header, in bytes; tokens of Keystone are a few KiB.
MAX_LINE = 8192
_CHUNK = re.compile(rb'([0-9a-fA-F]{1,8})[ \t]*(;[\t\x20-\x7e\x80-\xff]*)?\r\n')
#: Longest first line of a chunk, in bytes.
_CHUNK_LINE = 1024
_LENGTH, _CODING = b'Content-Length', b'Transfer-Encoding'
#: Headers that may be given only once.
_ONCE = {_LENGTH, _CODING, b'Host', b'Authorization', b'X-Auth-Token', b'X-Service-Token', b'Origin'}


class Headers(server.HeaderReader):
    """Reads headers. Names with an underscore are left out, since WSGI does not tell them from names with a dash."""

    def __call__(self, rfile: Any, hdict: dict[bytes, bytes] | None = None) -> dict[bytes, bytes]:
        """Return the headers up to the empty line.

        :raises ValueError: the headers are malformed or ambiguous.
        """
        headers = {} if hdict is None else hdict
        while (line := rfile.readline(MAX_LINE + 1)) != b'\r\n':
            name, value = _header(line)
            if b'_' in name:
                continue
            if name in _ONCE and name in headers:
                raise ValueError(f'{name.decode()} is there twice.')
            if name in headers and name in server.comma_separated_headers:
                value = b', '.join((headers[name], value))
            headers[name] = value
        _check_body(headers)
        return headers


def _header(line: bytes) -> tuple[bytes, bytes]:
    """Return name and value of a header."""
    if len(line) > MAX_LINE:
        raise ValueError(f'A header line is longer than {MAX_LINE} bytes.')
    name, colon, value = line.removesuffix(b'\r\n').partition(b':')
    if not (line.endswith(b'\r\n') and colon and _NAME.fullmatch(name) and _VALUE.fullmatch(value)):
        raise ValueError('Illegal header line.')
    return name.title(), value.strip(b' \t')


def _check_body(headers: dict[bytes, bytes]) -> None:
    length, coding = headers.get(_LENGTH), headers.get(_CODING)
    if length is not None and coding is not None:
        raise ValueError('Content-Length and Transfer-Encoding exclude each other.')
    if length is not None and not length.isdigit():
        raise ValueError('Malformed Content-Length Header.')
    if coding is not None and coding.lower() != b'chunked':
        raise ValueError('Transfer-Encoding: only "chunked" is understood.')


class TooLarge(ValueError):
    """A body is larger than it may be."""


class Sized:
    """A body of a known number of bytes."""

    def __init__(self, length: int):
        self._length = length

    def take(self, came: bytearray) -> bytes | None:
        """Return the body and leave the data after it; return None while it is not complete."""
        if len(came) < self._length:
            return None
        body = bytes(came[:self._length])
        del came[:self._length]
        return body


class Chunked:
    """A body in chunks, of ``most`` bytes together at most; 0 for no limit.

    Sizes must be hexadecimal digits; other forms that Python reads as numbers are refused.
    """

    def __init__(self, most: int):
        self._most = most
        self._body = bytearray()

    def take(self, came: bytearray) -> bytes | None:
        """Return the body when its last chunk has begun; None before.

        :raises ValueError: the chunks are malformed; ``TooLarge``: they exceed the limit.
        """
        while (start := came.find(b'\n', 0, _CHUNK_LINE) + 1) > 0:
            matched = _CHUNK.fullmatch(came, 0, start)
            if matched is None:
                raise ValueError('a chunk has no size')
            size = int(matched[1], 16)
            if self._most and len(self._body) + size > self._most:
                raise TooLarge(f'the chunks are more than {self._most} bytes')
            end = start + size
            if size and len(came) < end + 2:
                return None
            if size and came[end:end + 2] != b'\r\n':
                raise ValueError('a chunk is longer than it says')
            self._body += came[start:end]
            del came[:end + 2 if size else start]
            if not size:
                return bytes(self._body)
        if len(came) >= _CHUNK_LINE:
            raise ValueError('a chunk has no size')
        return None


class Request(server.HTTPRequest):
    """One request. ``refused``: the status of its refusal. ``listener``: gives the rest of the answer, when there is some.

    After a chunked body the connection ends, for trailers may follow.
    """

    header_reader = Headers()
    refused = ''
    trailers = False
    listener: Any = None

    def read_request_line(self) -> bool:
        """Return whether there is a valid first line."""
        try:
            return super().read_request_line()
        except ValueError:      # for an address such as http://[::1/
            self.simple_response('400 Bad Request', 'Malformed Request-URI')
            return False

    def read_request_headers(self) -> bool:
        """Read the headers, and refuse chunks in HTTP/1.0: the base class would take them for the next request."""
        good = super().read_request_headers()
        if good and _CODING in self.inheaders and not self.chunked_read:
            self.simple_response('400 Bad Request', 'Transfer-Encoding: HTTP/1.0 has none.')
            return False
        return good

    def body(self) -> Sized | Chunked:
        """Return the object that finds the end of the body."""
        if self.chunked_read:
            return Chunked(self.server.max_request_body_size)
        return Sized(int(self.inheaders.get(_LENGTH, 0)))

    def whole(self, body: Any, length: int) -> None:
        """Set the complete body. The application sees the same form whether it came in chunks or not."""
        self.rfile = body
        if self.chunked_read:
            self.chunked_read, self.close_connection, self.trailers = False, True, True
            del self.inheaders[_CODING]
            self.inheaders[_LENGTH] = b'%d' % length

    def simple_response(self, status: str, msg: str = '', more: str = '') -> None:
        """Refuse the request, without reading the rest of it. ``more``: headers, each with its end of line."""
        self.refused, self.ready, self.close_connection = status, False, True
        self.conn.write(f'{self.server.protocol} {status}\r\nContent-Length: {len(msg)}\r\nContent-Type: text/plain\r\n'
                        f'{more}Connection: close\r\n\r\n{msg}'.encode('latin-1', 'replace'))

    def respond(self) -> None:
        """Let the application write the answer; with a ``listener``, only its beginning."""
        gateway = self.server.gateway(self)
        gateway.env[LISTENS] = True
        try:
            gateway.respond()
        finally:
            self.listener = gateway.env.get(LISTENER)
        self.ensure_headers_sent()
        if self.listener is None:
            self.finish()

    def finish(self) -> None:
        """Write the end of the answer."""
        if self.chunked_write:
            self.conn.write(b'0\r\n\r\n')
