# SPDX-License-Identifier: Apache-2.0
"""Databases that refuse some commits, or do not answer them."""

import contextlib

from manila_lite.db.core.conflicts import CommitLost


class Refusing:
    """Wrapper of the database ``db``: rolls back ``times`` transactions for which ``when(conn)`` is true, with an error."""

    def __init__(self, db, when, times=1):
        self._db = db
        self.when = when
        self.times = times

    def __getattr__(self, name):
        return getattr(self._db, name)

    def write(self, work):
        """Do the work in one transaction."""
        with self.writer() as conn:
            return work(conn)

    @contextlib.contextmanager
    def writer(self):
        with self._db.writer() as conn:
            yield conn
            if self.times and self.when(conn):
                self.times -= 1
                raise RuntimeError('the database says no')


class Losing(Refusing):
    """The same, but these transactions are committed, and nobody says so."""

    @contextlib.contextmanager
    def writer(self):
        lost = False
        with self._db.writer() as conn:
            yield conn
            if self.times and self.when(conn):
                self.times, lost = self.times - 1, True
        if lost:
            raise CommitLost(ConnectionError('the node died'))
