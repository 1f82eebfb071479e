# SPDX-License-Identifier: Apache-2.0
"""The table of operations as it is after a commit, read without the wire."""

import dataclasses
import datetime
import sqlite3

_COLUMNS = ('id', 'kind', 'topic', 'host', 'serial', 'state', 'step', 'undoing', 'wanted', 'attempts', 'next_run_at', 'owner',
            'lease_expires_at', 'finished_at', 'data', 'lane', 'turn_of', 'resource_id')


@dataclasses.dataclass(frozen=True)
class Row:
    """The row of an operation."""

    id: str
    kind: str
    topic: str
    host: str
    serial: str
    state: str
    step: int
    undoing: int
    wanted: int
    attempts: int
    next_run_at: str
    owner: str
    lease_expires_at: str
    finished_at: str
    data: str
    lane: str
    turn_of: str
    resource_id: str

    @property
    def leg(self):
        """Return the present step, whose attempts are counted."""
        return self.topic, self.step, self.undoing


class Table:
    """Access to all operations."""

    def __init__(self, path):
        self._conn = sqlite3.connect(path, isolation_level=None, check_same_thread=False)

    def read(self):
        """Return the operations by id, the oldest first."""
        return {row[0]: Row(*row) for row in self._conn.execute(
            f'SELECT {", ".join(_COLUMNS)} FROM operations ORDER BY rowid')}

    def clear(self):
        """Delete all operations."""
        self._conn.execute('DELETE FROM operations')

    def spoil(self, ident):
        """Make the operation's data unreadable."""
        self._conn.execute("UPDATE operations SET data = '{' WHERE id = ?", (ident,))

    def close(self):
        self._conn.close()


def seconds(text):
    """Return seconds of a time in the table."""
    return datetime.datetime.fromisoformat(text).timestamp()


def changed(before, after):
    """Return the names of the columns that differ."""
    return {name for name in _COLUMNS if getattr(before, name) != getattr(after, name)}
