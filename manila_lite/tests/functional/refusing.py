# SPDX-License-Identifier: Apache-2.0
"""Database that refuses some commits."""

import contextlib


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
