# SPDX-License-Identifier: Apache-2.0
"""The table of connections: their states, since when, their number for each address, and the memory they hold."""

import collections
import contextlib
import time
from collections.abc import Iterator

from manila_lite.api.server.connection import Connection, ConnectionState

#: The order of states in which connections are closed; those that a worker has are never closed. One that listens comes back,
#: and loses nothing.
EXPENDABLE = (
    ConnectionState.IDLE,
    ConnectionState.LINGER,
    ConnectionState.LISTEN,
    ConnectionState.HEAD,
    ConnectionState.BODY,
    ConnectionState.ANSWER,
)
#: The order when memory runs out.
HEAVY = (ConnectionState.LISTEN, ConnectionState.ANSWER, ConnectionState.BODY, ConnectionState.HEAD)


class Table:
    """The connections, for use by one thread. Those of each state are in the order in which they entered it."""

    def __init__(self) -> None:
        self._by_fd: dict[int, Connection] = {}
        self._in: dict[ConnectionState, dict[Connection, None]] = {state: {} for state in ConnectionState}
        self._origins: collections.Counter[str] = collections.Counter()
        self.held = 0

    def __len__(self) -> int:
        return len(self._by_fd)

    def of(self, fd: int) -> Connection | None:
        """Return the connection with this descriptor."""
        return self._by_fd.get(fd)

    def all_in(self, state: ConnectionState) -> list[Connection]:
        """Return the connections in a state, the oldest first."""
        return list(self._in[state])

    def all(self) -> list[Connection]:
        """Return every connection."""
        return list(self._by_fd.values())

    def count_of(self, origin: str) -> int:
        """Return the number of connections from an address."""
        return self._origins[origin]

    def add(self, conn: Connection) -> None:
        """Add a connection."""
        self._by_fd[conn.fd] = conn
        self._in[conn.state][conn] = None
        self._origins[conn.origin] += 1

    def move(self, conn: Connection, state: ConnectionState) -> None:
        """Change the state of a connection."""
        del self._in[conn.state][conn]
        conn.state, conn.since = state, time.monotonic()
        self._in[state][conn] = None

    def weigh(self, conn: Connection) -> None:
        """Update the number of bytes that a connection holds."""
        size = conn.size
        self.held += size - conn.held
        conn.held = size

    def close(self, conn: Connection, *, abort: bool = False) -> None:
        """Close and remove a connection that is in the table; see ``Connection.close``."""
        if self._by_fd.get(conn.fd) is not conn:
            return
        del self._by_fd[conn.fd], self._in[conn.state][conn]
        self.held -= conn.held
        self._origins[conn.origin] -= 1
        if not self._origins[conn.origin]:
            del self._origins[conn.origin]
        with contextlib.suppress(OSError):
            conn.close(abort=abort)

    def late(self, state: ConnectionState, limit: float) -> Iterator[Connection]:
        """Yield the connections in a state since before ``limit``. Each must have left it when the next is asked for."""
        while (conn := next(iter(self._in[state]), None)) is not None and conn.since <= limit:
            yield conn

    def expendable(
        self,
        order: tuple[ConnectionState, ...] = EXPENDABLE,
        *,
        spare: Connection | None = None,
        origin: str | None = None,
    ) -> Iterator[Connection]:
        """Yield the connections that can be closed, best first, without ``spare``.

        First come those of the address with most of them (or of ``origin`` alone), for each state the oldest first.
        """
        greedy = origin or next((name for name, _ in self._origins.most_common(1)), '')
        for of_greedy in (True, False)[: 1 if origin else 2]:
            for state in order:
                for conn in self._in[state]:
                    if conn is not spare and (conn.origin == greedy) is of_greedy:
                        yield conn
