# SPDX-License-Identifier: Apache-2.0
"""A client that listens: its unsent events, and its end."""

import random
import threading
import time
from collections.abc import Callable

from manila_lite.api.events.audience import Audience
from manila_lite.api.events.batches import Batch
from manila_lite.api.events.cursor import Cursor

#: Seconds between signs of life.
KEEP_ALIVE = 15.0
#: Seconds for which even a client that does not want to wait waits for the database.
_GRACE = 5.0
#: Milliseconds until a client comes back; a random time between them, since all listeners of a process may end together.
_RETRY = (1000, 5000)


def _nothing() -> None:
    """Tell nobody."""


class Listener:
    """A client that listens until ``until`` (of the monotonic clock).

    ``given``: whether it named a position, which is ``cursor`` if that can be read. ``stream``: it gets server-sent events,
    else one JSON document. ``once``: it ends with the first events. ``buffer``: bytes that may wait for it. ``leave``: called
    once, when it has ended.

    The hub's thread puts batches in; the thread that serves the connection takes bytes out.
    """

    def __init__(
        self,
        audience: Audience,
        cursor: Cursor | None,
        *,
        given: bool,
        stream: bool,
        once: bool,
        until: float,
        buffer: int,
        leave: Callable[['Listener'], None],
    ):
        self.audience, self.cursor, self.given, self.buffer = audience, cursor, given, buffer
        self.is_closed = False
        #: Called by the hub's thread when there are bytes to take.
        self.tell: Callable[[], None] = _nothing
        self._stream, self._once, self._until, self._leave = stream, once or not stream, until, leave
        self._position = str(cursor) if cursor else ''
        self._lock = threading.Lock()
        self._news = threading.Event()
        self._unsent: list[bytes] = []
        self._has_ended = self._is_welcome = False
        self._beat_at = time.monotonic() + KEEP_ALIVE

    # The hub's thread

    def welcome(self, missed: Batch, position: str) -> None:
        """Begin with the events that it missed; those after ``position`` follow."""
        retry = _RETRY[0] if self._once else random.randint(*_RETRY)
        with self._lock:
            if self._stream:
                # The position alone, without an event, until there is one: a client that comes back sends it.
                self._unsent.append(
                    b'retry: %d\n' % retry + (b'\n' if missed else b'id: %b\n\n' % position.encode())
                )
            self._is_welcome = True
            self._add(missed, position)
            if self._once and time.monotonic() >= self._until:
                self._finish()
        self._ring()

    def put(self, batch: Batch, position: str) -> None:
        """Give it events, or only the new position."""
        with self._lock:
            self._add(batch, position)
        if batch:
            self._ring()

    def _add(self, batch: Batch, position: str) -> None:
        if self._has_ended:
            return
        self._position = position
        if batch:
            self._unsent.append(batch.stream if self._stream else batch.document)
            self._has_ended = self._once

    def _ring(self) -> None:
        self._news.set()
        self.tell()

    # The thread that serves the connection

    def take(self) -> tuple[bytes, bool]:
        """Return the bytes to send, and whether they are the last."""
        with self._lock:
            data = b''.join(self._unsent)
            self._unsent.clear()
            if data:
                self._beat_at = time.monotonic() + KEEP_ALIVE
            return data, self._has_ended

    def beat(self, now: float) -> bool:
        """Say whether there is something to take because of the time: an end, or a sign of life."""
        with self._lock:
            if now >= self._deadline():
                self._finish()
                return True
            if now < self._beat_at or not self._stream:
                return False
            self._unsent.append(
                b': keep-alive\n' + (b'id: %b\n\n' % self._position.encode() if self._position else b'\n')
            )
            return True

    def end(self) -> None:
        """End it. The client gets the missing events from another process, or later."""
        with self._lock:
            self._finish()

    def wait(self) -> bytes:
        """Wait for its only events, and return them: for servers that give it a thread."""
        while True:
            self._news.wait(max(self._deadline() - time.monotonic(), 0.0))
            self._news.clear()
            self.beat(time.monotonic())
            data, ended = self.take()
            if ended:
                return data
            with self._lock:
                self._unsent.insert(0, data)

    def close(self) -> None:
        """Forget it. May be called twice, by any thread."""
        with self._lock:
            was_closed, self.is_closed, self._has_ended = self.is_closed, True, True
            self.tell = _nothing
        if not was_closed:
            self._leave(self)

    def _deadline(self) -> float:
        return self._until if self._is_welcome else self._until + _GRACE

    def _finish(self) -> None:
        if not self._has_ended and not self._stream:
            self._unsent.append(Batch([], '', self._position).document)
        self._has_ended = True
