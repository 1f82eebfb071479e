# SPDX-License-Identifier: Apache-2.0
"""Requests, read by llhttp, and refusals beyond its grammar.

Input that a proxy in front could read in another way is refused: a second request could be hidden in it. The grammar is
llhttp's, in its strict form. The limits, and the table of refusals, are ours.
"""

import types
import urllib.parse
from collections.abc import Callable
from typing import Any

import httptools
from cheroot import server

from manila_lite.api.request import LISTENER, LISTENS

#: Longest line of a header, in bytes; tokens of Keystone are a few KiB.
MAX_LINE = 8192
#: Most bytes among chunks in which none of the body is: longest first line of a chunk, or trailers.
_CHUNK_LINE = 1024
_LENGTH, _CODING = b'Content-Length', b'Transfer-Encoding'
#: Headers that may be given only once, besides the two above.
_ONCE = (b'Host', b'Authorization', b'X-Auth-Token', b'X-Service-Token', b'Origin')
_LISTS = frozenset(name.title() for name in server.comma_separated_headers)  # type: ignore[attr-defined]  # its stub lacks them
#: A head that lets a parser read a body in chunks.
_CHUNKS_FOLLOW = b'PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n'
_BAD, _LARGE = '400 Bad Request', '413 Request Entity Too Large'


class Refused(Exception):
    """A body is refused, with a status and a message."""


class Sized:
    """A body of a known number of bytes."""

    def __init__(self, length: int):
        self._length = length

    def __len__(self) -> int:
        return 0  # it stays where it came

    def take(self, came: bytearray) -> bytes | None:
        """Return the body and leave the data after it; return None while it is not complete."""
        if len(came) < self._length:
            return None
        body = bytes(came[: self._length])
        del came[: self._length]
        return body


class Chunked:
    """A body in chunks, of ``most`` bytes together at most; 0 for no limit. Its trailers are ignored."""

    def __init__(self, most: int):
        self._most, self._idle = most, 0
        body, ends = bytearray(), list[int]()
        self._body, self._ends = body, ends
        self._parser = httptools.HttpRequestParser(
            types.SimpleNamespace(on_body=body.extend, on_message_complete=lambda: ends.append(len(body)))
        )
        self._parser.feed_data(_CHUNKS_FOLLOW)

    def __len__(self) -> int:
        return len(self._body)

    def take(self, came: bytearray) -> bytes | None:
        """Return the complete body, or None. Leave no data after it, since the connection ends; or raise ``Refused``."""
        held = len(self)
        try:
            self._parser.feed_data(came)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as bad:
            if not self._ends:  # else it is wrong after the body
                raise Refused(_LARGE if 'overflow' in str(bad) else _BAD, f'body: {bad}') from None
        self._idle = 0 if len(self) > held else self._idle + len(came)
        came.clear()
        size = self._ends[0] if self._ends else len(self)
        if 0 < self._most < size:
            raise Refused(_LARGE, f'body: the chunks are more than {self._most} bytes')
        if self._idle > _CHUNK_LINE and not self._ends:
            raise Refused(_BAD, f'body: a line among the chunks is longer than {_CHUNK_LINE} bytes')
        return bytes(self._body[:size]) if self._ends else None


class HttpRequest(server.HTTPRequest):
    """One request. ``refused``: the status of its refusal. ``listener``: gives the rest of the answer, when there is some.

    After a chunked body the connection ends, for trailers may follow.
    """

    uri = method = b''
    refused = version = twice = ''
    trailers = False
    listener: Any = None
    _parser: Any = None

    def on_url(self, url: bytes) -> None:
        """Take the target. The parser calls this and the next two."""
        self.uri = url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header. Names with an underscore are left out, since WSGI does not tell them from names with a dash."""
        if b'_' not in name:
            self.inheaders.setdefault(name.title(), []).append(value.strip(b' \t'))

    def on_headers_complete(self) -> None:
        """Take what the parser forgets after this."""
        self.method, self.version = self._parser.get_method(), self._parser.get_http_version()
        self.close_connection = not self._parser.should_keep_alive()

    def read(self, head: bytes) -> None:
        """Read the first line and the headers: after that the request is either ``ready`` or ``refused``."""
        head = head.removeprefix(b'\r\n')  # RFC 9112, 2.2
        self.line, *lines = head.split(b'\n')
        if len(max(lines, key=len)) >= MAX_LINE:  # before they are parsed
            self.simple_response(_BAD, f'A header line is longer than {MAX_LINE} bytes.')
            return
        self._parser = httptools.HttpRequestParser(self)
        try:
            self._parser.feed_data(head)
        except httptools.HttpParserUpgrade:
            pass  # the server knows no other protocol, and reads on as if none was asked for
        except httptools.HttpParserError as bad:
            self.simple_response(_LARGE if 'overflow' in str(bad) else _BAD, f'Malformed request: {bad}.')
            return
        finally:
            self._parser = None
        self._settle()

    def _settle(self) -> None:
        self.twice = b', '.join(name for name in _ONCE if len(self.inheaders.get(name, ())) > 1).decode()
        self.inheaders = {
            name: b', '.join(values) if name in _LISTS else values[-1]
            for name, values in self.inheaders.items()
        }
        for status, wrong, message in _REFUSALS:
            if wrong(self):
                self.simple_response(status, message.format(request=self))
                return
        path, _, self.qs = self.uri.partition(b'?')
        self.path = urllib.parse.unquote_to_bytes(path)
        self.response_protocol = f'HTTP/{self.version}'
        self.request_protocol = self.response_protocol.encode()
        self.chunked_read = _CODING in self.inheaders
        if self.inheaders.get(b'Expect') == b'100-continue':
            self.conn.write(f'{self.server.protocol} 100 Continue\r\n\r\n'.encode())
        self.ready = True

    def body(self) -> Sized | Chunked:
        """Return the object that finds the end of the body."""
        return (
            Chunked(self.server.max_request_body_size)
            if self.chunked_read
            else Sized(int(self.inheaders.get(_LENGTH, 0)))
        )

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
        self.conn.write(
            f'{self.server.protocol} {status}\r\nContent-Length: {len(msg)}\r\nContent-Type: text/plain\r\n'
            f'{more}Connection: close\r\n\r\n{msg}'.encode('latin-1', 'replace')
        )

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


#: What the parser lets through and is refused all the same: the status, the case, and the message.
_REFUSALS: tuple[tuple[str, Callable[[HttpRequest], bool], str], ...] = (
    (
        _BAD,
        lambda it: not it.version or it.line != b'%s %s HTTP/%s\r' % (it.method, it.uri, it.version.encode()),
        'Malformed Request-Line: a method, a target and a version, with one blank between them, are expected.',
    ),
    (
        '505 HTTP Version Not Supported',
        lambda it: it.version not in ('1.0', '1.1'),
        'HTTP/1.1 and HTTP/1.0 are understood.',
    ),
    ('405 Method Not Allowed', lambda it: it.method == b'CONNECT', 'CONNECT: this is no proxy.'),
    (
        _BAD,
        lambda it: it.uri[:1] != b'/' or it.uri[:2] == b'//' or b'#' in it.uri,
        'Malformed Request-URI: a path that starts with one slash, without a #fragment, is expected.',
    ),
    (_BAD, lambda it: bool(it.twice), '{request.twice} is there twice.'),
    (
        _BAD,
        lambda it: it.inheaders.get(_CODING, b'chunked').lower() != b'chunked',
        'Transfer-Encoding: only "chunked" is understood.',
    ),
    (
        _BAD,
        lambda it: _CODING in it.inheaders and it.version == '1.0',
        'Transfer-Encoding: HTTP/1.0 has none.',
    ),
    (
        _LARGE,
        lambda it: 0 < it.server.max_request_body_size < int(it.inheaders.get(_LENGTH, 0)),
        'body: it is more than {request.server.max_request_body_size} bytes.',
    ),
)
