# SPDX-License-Identifier: Apache-2.0
"""Limits of waiting requests: at least one thread of a process never waits for another service.

A request waits in a thread; WSGI allows no other way. So it takes a turn first. Without a free turn it is refused, to
be sent again.
"""

import contextlib
import dataclasses
import threading
import time
from collections.abc import Iterator

from manila_lite import errors

#: Seconds, for a login and for work: while some turn is younger, a new request waits for one to end.
PATIENCE = (0.25, 1.0)

_BUSY = ('Too many requests of this project, or of all projects, wait for {what}. Nothing was changed; send it again in a '
         'moment.')


@dataclasses.dataclass(frozen=True, eq=False)
class _Turn:
    """A waiting thread: for a login (no ``owner``), or for work of this owner."""

    owner: str | None
    since: float


class ThreadReserve:
    """The turns of a process.

    Of ``threads`` all but one may wait; ``most`` of them for work, ``each`` for work of one owner. None: no bound. A
    few more wait for a turn (``PATIENCE``), unless all turns have lasted longer.
    """

    def __init__(self, threads: int | None = None, most: int | None = None, each: int | None = None):
        self.all = None if threads is None else max(threads - 1, 1)
        self.most = (None if threads is None else max(threads // 2, 1)) if most is None else most
        self.each = (None if self.most is None else max(self.most // 2, 1)) if each is None else each
        self.line = None if threads is None else max(threads // 4, 1)
        self._lined = 0
        self._changed = threading.Condition()
        self._inside: list[_Turn] = []

    @contextlib.contextmanager
    def login(self) -> Iterator[None]:
        """Take a turn to authenticate the caller.

        :raises errors.Busy: too many requests wait already.
        """
        turn = self._enter(None, 'their logins to be checked')
        try:
            yield
        finally:
            self._leave(turn)

    @contextlib.contextmanager
    def work(self, owner: str | None, what: str = 'backends') -> Iterator[None]:
        """Take a turn to wait for another service, on behalf of ``owner``. Do not take one turn within another.

        :raises errors.Busy: too many requests wait already, or too many of this owner.
        """
        turn = self._enter(owner or '', what)
        try:
            yield
        finally:
            self._leave(turn)

    def _enter(self, owner: str | None, what: str) -> _Turn:
        with self._changed:
            if self._ahead(owner):
                self._stay(owner, what)
            turn = _Turn(owner, time.monotonic())
            self._inside.append(turn)
        return turn

    def _stay(self, owner: str | None, what: str) -> None:
        """Wait for a free turn, or refuse."""
        lined = owner is not None
        if lined and (_full(self._lined, self.line) or _full(len(self._inside) + self._lined, self.all)):
            raise errors.Busy(_BUSY.format(what=what))
        self._lined += lined
        try:
            patience = PATIENCE[lined]
            end = time.monotonic() + patience
            while ahead := self._ahead(owner, lined=lined):
                left = min(end, max(turn.since for turn in ahead) + patience) - time.monotonic()
                if left <= 0:
                    raise errors.Busy(_BUSY.format(what=what))
                self._changed.wait(left)
        finally:
            self._lined -= lined

    def _ahead(self, owner: str | None, *, lined: bool = False) -> list[_Turn]:
        """Return the turns of which one has to end first, before ``owner`` gets one.

        ``lined``: the new request is in line, so its thread is counted already.
        """
        if not lined and _full(len(self._inside) + self._lined, self.all):
            return self._inside
        if owner is None:
            return []
        working = [turn for turn in self._inside if turn.owner is not None]
        mine = [turn for turn in working if turn.owner == owner]
        return mine if _full(len(mine), self.each) else working if _full(len(working), self.most) else []

    def _leave(self, turn: _Turn) -> None:
        with self._changed:
            self._inside.remove(turn)
            self._changed.notify_all()


def _full(count: int, most: int | None) -> bool:
    return most is not None and count >= most
