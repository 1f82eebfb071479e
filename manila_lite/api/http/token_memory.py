# SPDX-License-Identifier: Apache-2.0
"""Valid tokens that a process remembers for seconds, with the identity headers that they stand for.

keystonemiddleware takes several times as long as the rest of a small request, even when its cache has the token.
"""

import hmac
import os
import threading
import time
from collections.abc import Mapping
from typing import Any, NamedTuple


class _Known(NamedTuple):
    """The headers of a token, until a time of the monotonic clock and until one of the calendar (the token's own end)."""

    headers: Mapping[str, Any]
    until: float
    expires: float


class TokenMemory:
    """Remembers at most ``most`` tokens, each for ``seconds``. Only valid tokens are remembered, and only as keyed digests."""

    def __init__(self, seconds: float, most: int):
        self._seconds = seconds
        self._most = most
        self._key = os.urandom(32)
        self._lock = threading.Lock()
        self._known: dict[bytes, _Known] = {}  # the oldest first

    def find(self, token: str) -> Mapping[str, Any] | None:
        """Return the headers of a token, or None if it is not known, or no longer, or has expired."""
        if not self._seconds:
            return None
        known = self._known.get(self._digest(token))
        if known is None or known.until <= time.monotonic() or known.expires <= time.time():
            return None
        return known.headers

    def remember(self, token: str, headers: Mapping[str, Any], expires: float) -> None:
        """Remember a valid token, which expires at a time in seconds of the epoch."""
        if not self._seconds:
            return
        digest = self._digest(token)
        with self._lock:
            self._known.pop(digest, None)
            while len(self._known) >= self._most:
                del self._known[next(iter(self._known))]
            self._known[digest] = _Known(headers, time.monotonic() + self._seconds, expires)

    def _digest(self, token: str) -> bytes:
        return hmac.digest(self._key, token.encode('utf-8', 'surrogateescape'), 'sha256')
