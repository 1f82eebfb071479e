# SPDX-License-Identifier: Apache-2.0
"""Which connections there are, what each waits for and since when, who has most of them, and what they hold."""

import collections
import contextlib
import time
from collections.abc import Iterator

from manila_lite.api.connection import Connection, State

#: The order in which connections are given up; those that a worker has never are.
EXPENDABLE = (State.IDLE, State.LINGER, State.HEAD, State.BODY, State.ANSWER)
#: The order in which they are where memory runs out.
HEAVY = (State.ANSWER, State.BODY, State.HEAD)


class Table:
    """To be used by one thread. The connections of each state stand in the order in which they came to it."""

    def __init__(self) -> None:
        self._by_fd: dict[int, Connection] = {}
        self._in: dict[State, dict[Connection, None]] = {state: {} for state in State}
        self._origins: collections.Counter[str] = collections.Counter()
        self.held = 0

    def __len__(self) -> int:
        return len(self._by_fd)

    def of(self, fd: int) -> Connection | None:
        """Return the connection with this descriptor."""
        return self._by_fd.get(fd)

    def all_in(self, state: State) -> list[Connection]:
        """Return those in a state, the oldest first."""
        return list(self._in[state])

    def all(self) -> list[Connection]:
        """Return every connection."""
        return list(self._by_fd.values())

    def count_of(self, origin: str) -> int:
        """Return how many come from there."""
        return self._origins[origin]

    def add(self, conn: Connection) -> None:
        """It is there."""
        self._by_fd[conn.fd] = conn
        self._in[conn.state][conn] = None
        self._origins[conn.origin] += 1

    def move(self, conn: Connection, state: State) -> None:
        """It waits for something else from now on."""
        del self._in[conn.state][conn]
        conn.state, conn.since = state, time.monotonic()
        self._in[state][conn] = None

    def weigh(self, conn: Connection) -> None:
        """What it holds is counted anew."""
        size = conn.size
        self.held += size - conn.held
        conn.held = size

    def close(self, conn: Connection, *, abort: bool = False) -> None:
        """It is gone, if it was not; see ``Connection.close``."""
        if self._by_fd.get(conn.fd) is not conn:
            return
        del self._by_fd[conn.fd], self._in[conn.state][conn]
        self.held -= conn.held
        self._origins[conn.origin] -= 1
        if not self._origins[conn.origin]:
            del self._origins[conn.origin]
        with contextlib.suppress(OSError):
            conn.close(abort=abort)

    def late(self, state: State, limit: float) -> Iterator[Connection]:
        """Yield those that came to a state before ``limit``; each must have left it when the next is asked for."""
        while (conn := next(iter(self._in[state]), None)) is not None and conn.since <= limit:
            yield conn

    def expendable(self, order: tuple[State, ...] = EXPENDABLE, *, spare: Connection | None = None,
                   origin: str | None = None) -> Iterator[Connection]:
        """Yield what can be given up, best first: those of the address that has most (or of ``origin`` alone), the oldest of
        each state. Not ``spare``.
        """
        greedy = origin or next((name for name, _ in self._origins.most_common(1)), '')
        for of_greedy in (True, False)[:1 if origin else 2]:
            for state in order:
                for conn in self._in[state]:
                    if conn is not spare and (conn.origin == greedy) is of_greedy:
                        yield conn
