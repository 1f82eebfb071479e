# SPDX-License-Identifier: Apache-2.0
"""Several pieces of work, each with a transaction of its own, that are committed as one. See ``Database.together``."""

import contextlib
import functools
from collections.abc import Callable, Iterator

from sqlalchemy.engine import Connection


class Together:
    """One transaction for all that a thread writes. ``begin`` begins it, when something is to be written."""

    def __init__(self, begin: Callable[[], Connection]):
        self._begin = begin
        self._afterwards: list[Callable[[], None]] = []
        self.begun = False

    @functools.cached_property
    def connection(self) -> Connection:
        """The connection of the transaction, which begins at the first call."""
        conn = self._begin()
        self.begun = True
        return conn

    @contextlib.contextmanager
    def part(self) -> Iterator[Connection]:
        """What is written through the connection stays if the whole does; if the part fails, the rest need not."""
        conn = self.connection
        with conn.begin_nested():
            yield conn

    def later(self, call: Callable[[], None]) -> None:
        """The call is made after the commit, or never."""
        self._afterwards.append(call)

    def committed(self) -> None:
        """What waited for the commit is done."""
        for call in self._afterwards:
            call()
