# SPDX-License-Identifier: Apache-2.0
"""A database that does not commit everything."""

import contextlib


class Refusing:
    """The database ``db``, but ``times`` transactions that end with ``when(conn)`` true are refused, and leave nothing."""

    def __init__(self, db, when, times=1):
        self._db = db
        self.when = when
        self.times = times

    def __getattr__(self, name):
        return getattr(self._db, name)

    @contextlib.contextmanager
    def writer(self):
        with self._db.writer() as conn:
            yield conn
            if self.times and self.when(conn):
                self.times -= 1
                raise RuntimeError('the database says no')
