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

_BUSY = (
    'Too many requests of this project, or of all projects, wait for {what}. Nothing was changed; send it again in a '
    'moment.'
)


@dataclasses.dataclass(frozen=True, eq=False)
class _Turn:
    """A waiting thread. ``groups``: what it counts for, the narrowest first, and how many turns may be in each."""

    groups: dict[tuple[str, ...], int | None]
    is_work: bool = False
    since: float = 0.0


class ThreadReserve:
    """The turns of a process.

    Of ``threads`` all but one may wait; ``most`` of them for work, ``each`` for work of one owner. A third of them may wait
    for passwords from one address, and two thirds for passwords of one name: so an address that guesses the name leaves
    turns to its owner. None: no bound. A few more wait for a turn (``PATIENCE``), unless all turns have lasted longer.
    """

    def __init__(self, threads: int | None = None, most: int | None = None, each: int | None = None):
        self.all = None if threads is None else max(threads - 1, 1)
        self.most = (None if threads is None else max(threads // 2, 1)) if most is None else most
        self.each = (None if self.most is None else max(self.most // 2, 1)) if each is None else each
        self.line = None if threads is None else max(threads // 4, 1)
        self.by_address = None if self.all is None else max(self.all // 3, 1)
        self.by_name = None if self.all is None else max(2 * self.all // 3, 1)
        self._lined: list[_Turn] = []
        self._changed = threading.Condition()
        self._inside: list[_Turn] = []

    @contextlib.contextmanager
    def login(self, address: str | None = None, name: str | None = None) -> Iterator[None]:
        """Take a turn to authenticate the caller.

        ``address`` and ``name``: of a stranger whose password for this name is to be checked.

        :raises errors.Busy: too many requests wait already, or too many of this address or for this name.
        """
        bounds = (('address', address, self.by_address), ('name', name, self.by_name))
        turn = self._enter(
            _Turn({(kind, value): most for kind, value, most in bounds if value is not None}),
            'their logins to be checked',
        )
        try:
            yield
        finally:
            self._leave(turn)

    @contextlib.contextmanager
    def work(self, owner: str | None, what: str = 'backends') -> Iterator[None]:
        """Take a turn to wait for another service, on behalf of ``owner``. Do not take one turn within another.

        :raises errors.Busy: too many requests wait already, or too many of this owner.
        """
        turn = self._enter(
            _Turn({('work', owner or ''): self.each, ('work',): self.most}, is_work=True), what
        )
        try:
            yield
        finally:
            self._leave(turn)

    def _enter(self, turn: _Turn, what: str) -> _Turn:
        with self._changed:
            if self._ahead(turn):
                self._stay(turn, what)
            turn = dataclasses.replace(turn, since=time.monotonic())
            self._inside.append(turn)
        return turn

    def _stay(self, turn: _Turn, what: str) -> None:
        """Wait for a free turn, or refuse."""
        crowded = self._is_crowded()
        lined = turn.is_work or not crowded  # a login for which no thread is left waits a moment in its own
        before = sum(not turn.groups.keys().isdisjoint(one.groups) for one in self._lined)
        if lined and (crowded or _full(before, self.line)):
            raise errors.Busy(_BUSY.format(what=what))
        self._lined += [turn] * lined
        try:
            patience = PATIENCE[lined]
            end = time.monotonic() + patience
            while ahead := self._ahead(turn, lined=lined):
                left = min(end, max(one.since for one in ahead) + patience) - time.monotonic()
                if left <= 0:
                    raise errors.Busy(_BUSY.format(what=what))
                self._changed.wait(left)
        finally:
            if lined:
                self._lined.remove(turn)

    def _is_crowded(self) -> bool:
        return _full(len(self._inside) + len(self._lined), self.all)

    def _ahead(self, turn: _Turn, *, lined: bool = False) -> list[_Turn]:
        """Return the turns of which one has to end before this one begins.

        ``lined``: the new request is in line, so its thread is counted already.
        """
        if not lined and self._is_crowded():
            return self._inside
        groups = (
            ([one for one in self._inside if group in one.groups], most)
            for group, most in turn.groups.items()
        )
        return next((others for others, most in groups if _full(len(others), most)), [])

    def _leave(self, turn: _Turn) -> None:
        with self._changed:
            self._inside.remove(turn)
            self._changed.notify_all()


def _full(count: int, most: int | None) -> bool:
    return most is not None and count >= most
