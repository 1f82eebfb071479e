# SPDX-License-Identifier: Apache-2.0
"""Admission of connections, with a limit for all and one for each address.

When a limit is reached, or descriptors or memory run out, the oldest idle connection of the address with most of them
is closed.
"""

import contextlib
import errno
import logging
import os
import socket
from collections.abc import Callable, Iterator
from typing import Any

from manila_lite import metrics
from manila_lite.api.server.connection import Connection, ConnectionState
from manila_lite.api.server.connection_limits import Limits
from manila_lite.api.server.connection_table import HEAVY, Table
from manila_lite.api.server.listener import Listener

LOG = logging.getLogger(__name__)

#: Connections that are accepted at once, before existing ones are served again. Of a crowd that comes at once, other processes
#: with the same listener accept a part meanwhile.
_ACCEPTS = 16
#: Connections over the limit that still get an answer: a 503, or the result of a health check.
SURPLUS = 64
#: Fewest connections that a lack of descriptors leaves, and descriptors that are then left to the rest of the process.
_LEAST, _SPARE = 8, 16
#: Errors of the kernel when it has no descriptor or no memory for a connection.
_SHORT = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM))


class Admission:
    """Accepts connections from ``listener``. ``make`` creates one; ``welcome`` is called with it."""

    def __init__(
        self,
        listener: Listener,
        table: Table,
        limits: Limits,
        make: Callable[[socket.socket, tuple[Any, ...]], Connection],
        welcome: Callable[[Connection], None],
    ):
        self._listener, self._table, self._limits = listener, table, limits
        self._make, self._welcome = make, welcome
        self._most = limits.connections

    def open(self) -> bool:
        """Accept waiting connections, up to a number. Return False if none can be accepted now."""
        for _ in range(_ACCEPTS):
            try:
                sock, peer = self._listener.socket.accept()
            except BlockingIOError:
                break
            except OSError as error:
                if error.errno in _SHORT and not self._shrink(error):
                    return False
            else:
                self._admit(sock, peer)
        return True

    def take(self) -> None:
        """Take a connection that the master has accepted while no process could, unless another process was faster."""
        with contextlib.suppress(OSError):
            sock = self._listener.take()
            self._admit(sock, sock.getpeername())

    def grow(self) -> None:
        """Restore the limit after a lack of descriptors, when half of the connections have gone."""
        if len(self._table) < self._most // 2:
            self._most = self._limits.connections

    def lighten(self) -> None:
        """Close connections until all together hold no more memory than they may."""
        while self._table.held > self._limits.memory and self._lose(self._table.expendable(HEAVY), 'memory'):
            pass

    def give_up(self, conn: Connection, why: str) -> None:
        """Close a connection, and count that."""
        LOG.info('%s: connection given up (%s, %s)', conn.remote_addr, why, conn.state.value)
        metrics.gave_up(why)
        self._table.close(conn, abort=conn.state in (ConnectionState.ANSWER, ConnectionState.LISTEN))

    def _admit(self, sock: socket.socket, peer: tuple[Any, ...]) -> None:
        table, most, own = self._table, self._most, self._limits.per_address
        conn = self._make(sock, peer)
        table.add(conn)
        if own and table.count_of(conn.origin) > own:
            conn.surplus = True
        elif len(table) > most:
            conn.surplus = not self._lose(
                (one for one in table.expendable(spare=conn) if not one.surplus), 'full'
            )
        if own and table.count_of(conn.origin) > own + SURPLUS:
            self._lose(table.expendable(spare=conn, origin=conn.origin), 'address')
        if len(table) > most + SURPLUS:
            self._lose(table.expendable(spare=conn), 'full')
        self._welcome(conn)

    def _shrink(self, error: OSError) -> bool:
        """Close connections after a lack of descriptors, and lower the limit. Return whether any could be closed."""
        self._most = max(_LEAST, min(self._most, len(self._table) - _SPARE))
        LOG.warning(
            'No connection can be accepted (%s): the oldest idle ones are closed, and %s is the maximum until half '
            'of them are closed. See max_connections, and LimitNOFILE of the unit.',
            os.strerror(error.errno or 0),
            self._most,
        )
        made = False
        while len(self._table) > self._most and self._lose(self._table.expendable(), 'descriptors'):
            made = True
        return made

    def _lose(self, candidates: Iterator[Connection], why: str) -> bool:
        """Close the first candidate. Return whether there was one."""
        conn = next(candidates, None)
        if conn is not None:
            self.give_up(conn, why)
        return conn is not None
