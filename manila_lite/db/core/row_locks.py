# SPDX-License-Identifier: Apache-2.0
"""Locks of rows, which hold between the nodes of a Galera cluster, too.

Each node of Galera has locks of its own. What other nodes hear of a transaction, when it commits, is the rows that it changed:
of two that changed the same row, the second gives way, and is repeated (``conflicts.py``). A lock by ``SELECT ... FOR UPDATE``,
or by an UPDATE that changes nothing, is no change: two transactions on two nodes would both have it, and both commit. So there,
and only there, each lock changes a row and changes it back, which no reader sees.
"""

from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

#: The key in a connection's record: whether it is one to a node of Galera. ``engine.py`` looks when it connects.
IS_NODE = 'manila_lite.galera'


def lock(conn: Connection, table: sa.Table, *where: sa.ColumnElement[bool]) -> bool:
    """Lock the rows of the table until the transaction ends. Say whether there are any.

    By an UPDATE: SQLite has no SELECT ... FOR UPDATE.
    """
    there = bool(_touch(conn, table, where, 1 if _is_node(conn) else 0))
    if there:
        _certify(conn, table, where, (-1,))
    return there


def certify(conn: Connection, table: sa.Table, *where: sa.ColumnElement[bool]) -> None:
    """Make a lock of rows hold between nodes. Call it with a SELECT ... FOR UPDATE of the same rows, before anything else is
    read.
    """
    _certify(conn, table, where, (1, -1))


def _certify(conn: Connection, table: sa.Table, where: Any, changes: tuple[int, ...]) -> None:
    if _is_node(conn):
        for seconds in changes:
            _touch(conn, table, where, seconds)


def _is_node(conn: Connection) -> bool:
    return bool(conn.dialect.name in ('mysql', 'mariadb') and conn.info.get(IS_NODE))


def _touch(conn: Connection, table: sa.Table, where: Any, seconds: int) -> int:
    """Move the time at which the rows were made: a column that all of these tables have, and no trigger depends on."""
    at: Any = table.c.created_at
    if seconds:
        at = sa.func.date_add(at, sa.text(f'INTERVAL {seconds} SECOND'))
    return conn.execute(
        table.update().where(*where).values(created_at=at, updated_at=table.c.updated_at)
    ).rowcount
