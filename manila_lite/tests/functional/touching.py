# SPDX-License-Identifier: Apache-2.0
"""Which rows of a table a call changes, in a database."""

import sqlalchemy as sa


class Touching:
    """Rows of ``table`` by the names that a test has for their keys: those that a call should meet, and their neighbours."""

    def __init__(self, db, table, key='id'):
        self.db = db
        self.table = table
        self.key = table.c[key]
        self.names = {}

    def do(self, call, *args, **more):
        """Return what ``call(conn, ...)`` returns, committed."""
        with self.db.writer() as conn:
            return call(conn, *args, **more)

    def row(self, name):
        """Return the row as it is now, or None."""
        return self._rows().get(name)

    def by(self, call, *args, **more):
        """Return the names of the rows that ``call(conn, ...)`` changed or took away."""
        return self.told_by(call, *args, **more)[0]

    def told_by(self, call, *args, **more):
        """As ``by``, with what the call returned."""
        before = self._rows()
        told = self.do(call, *args, **more)
        after = self._rows()
        return {name for name, row in before.items() if after.get(name) != row}, told

    def _rows(self):
        keys = {value: name for name, value in self.names.items()}
        with self.db.reader() as conn:
            found = conn.execute(sa.select(self.table).where(self.key.in_(list(keys)))).all()
        return {keys[row._mapping[self.key]]: row for row in found}
