# SPDX-License-Identifier: Apache-2.0
"""Assembles whole requests from input of any pieces. Nothing here waits."""

import io
import re
from typing import Any

from manila_lite.api.server import framing

#: The end of the headers, well-formed or not; the parser checks that.
_END = re.compile(rb'\n\r?\n')


class RequestReader:
    """Input of one connection that is not a request yet. ``most``: bytes of request line and headers together."""

    def __init__(self, settings: Any, conn: Any, most: int):
        self._settings = settings
        self._conn = conn
        self._most = most
        self._came = bytearray()
        self._seen = 0
        self._request: framing.HttpRequest | None = None
        self._body: framing.Sized | framing.Chunked | None = None

    def __len__(self) -> int:
        return len(self._came) + len(self._body or ())

    @property
    def in_body(self) -> bool:
        """Whether the headers are complete, and the body is not."""
        return self._body is not None

    def add(self, data: bytes) -> None:
        """Add input."""
        self._came += data

    def forget(self) -> None:
        """Discard the input."""
        self._came.clear()

    def take(self) -> framing.HttpRequest | None:
        """Return the next request when it is complete or refused, else None. After a refused one no other follows."""
        if self._body is None and not self._read_head():
            return None
        request = self._request
        assert request is not None  # it has a head
        if not request.refused and not self._read_body(request):
            return None
        self._request = self._body = None
        return request

    def refuse(self, status: str, message: str, more: str = '') -> framing.HttpRequest:
        """Return the incomplete request, refused."""
        request = self._request or framing.HttpRequest(self._settings, self._conn)
        request.simple_response(status, message, more)
        self._request = self._body = None
        return request

    def _read_head(self) -> bool:
        """Read the headers. Return whether they are complete or too long."""
        end = _END.search(self._came, max(0, self._seen - 2))
        self._seen = len(self._came)
        if end is None and (not self._most or self._seen <= self._most):
            return False
        stop = self._seen if end is None else end.end()
        head = bytes(self._came[:stop])
        del self._came[:stop]
        self._seen = 0
        self._request = request = framing.HttpRequest(self._settings, self._conn)
        if 0 < self._most < stop:
            status = (
                '413 Request Entity Too Large' if b'\n' in head[: self._most] else '414 Request-URI Too Long'
            )
            request.simple_response(
                status, f'The first line and the headers are more than {self._most} bytes.'
            )
        else:
            request.read(head)
        if request.ready:
            self._body = request.body()
        return True

    def _read_body(self, request: framing.HttpRequest) -> bool:
        """Read the body. Return whether it is complete or refused."""
        assert self._body is not None  # else it was refused
        try:
            body = self._body.take(self._came)
        except framing.Refused as bad:
            request.simple_response(*bad.args)
            return True
        if body is None:
            return False
        request.whole(io.BytesIO(body), len(body))
        return True
