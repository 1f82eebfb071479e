# SPDX-License-Identifier: Apache-2.0
"""One transaction for several pieces of work that would each have their own. See ``Database.together``."""

import contextlib
from collections.abc import Callable, Iterator

from sqlalchemy.engine import Connection

from manila_lite.db.core.savepoints import savepoint


class UnitOfWork:
    """One transaction for all writes of a thread. ``begin`` begins it at the first write."""

    def __init__(self, begin: Callable[[], Connection]):
        self._begin = begin
        self._conn: Connection | None = None

    @property
    def begun(self) -> bool:
        """Whether the transaction has begun."""
        return self._conn is not None

    @property
    def connection(self) -> Connection:
        """The connection of the transaction, which begins at the first access.

        No ``cached_property``: in Python 3.11 that has one lock for all units, and to begin may take long.
        """
        if self._conn is None:
            self._conn = self._begin()
        return self._conn

    @contextlib.contextmanager
    def part(self) -> Iterator[Connection]:
        """Open a savepoint: its writes are committed with the whole. If the part fails, the rest can go on."""
        conn = self.connection
        with savepoint(conn):
            yield conn
