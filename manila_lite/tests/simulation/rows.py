# SPDX-License-Identifier: Apache-2.0
"""The table of operations as it is after a commit, read without the wire."""

import datetime
import sqlite3
import typing

from manila_lite.db import models
from manila_lite.db.queries import operations
from manila_lite.tests.simulation import strangers


class Row(typing.NamedTuple):
    """The row of an operation; each field is the key of a column."""

    id: str
    kind: str
    topic: str
    host: str
    mutex_key: str
    state: str
    step: int
    steps: str
    undoing: int
    requested_count: int
    attempts: int
    next_run_at: str
    owner: str
    lease_expires_at: str
    finished_at: str
    data: str
    lane: str
    fair_share_key: str
    resource_id: str

    @property
    def leg(self):
        """Return the present step, whose attempts are counted."""
        return self.topic, self.step, self.undoing

    @property
    def name(self):
        """Return the name of the present step."""
        return operations.step_name(self)


_COLUMNS = [models.operations.c[key].name for key in Row._fields]


class Table:
    """Access to all operations."""

    def __init__(self, path):
        self._conn = sqlite3.connect(path, isolation_level=None, check_same_thread=False)

    def read(self):
        """Return the operations by id, the oldest first."""
        return {
            row[0]: Row(*row)
            for row in self._conn.execute(f'SELECT {", ".join(_COLUMNS)} FROM operations ORDER BY rowid')
        }

    def clear(self):
        """Delete all operations."""
        self._conn.execute('DELETE FROM operations')

    def make_unreadable(self, operation_id):
        """Make the operation's data unreadable."""
        self._conn.execute(
            'UPDATE operations SET data = ? WHERE id = ?', (strangers.UNREADABLE, operation_id)
        )

    def close(self):
        self._conn.close()


def seconds(text):
    """Return seconds of a time in the table."""
    return datetime.datetime.fromisoformat(text).timestamp()


def changed(before, after):
    """Return the names of the columns that differ."""
    return {name for name in Row._fields if getattr(before, name) != getattr(after, name)}
