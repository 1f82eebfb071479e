# SPDX-License-Identifier: Apache-2.0
"""Rows like those of an old database: orphans, duplicates, odd texts, meaningless values.

Made from the tables as they are, so that a new revision needs no new code here.
"""

import contextlib
import datetime
import functools
from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa
from oslo_db import exception
from sqlalchemy.engine import Connection

_OFF = {
    'sqlite': 'PRAGMA foreign_keys = OFF',
    'postgresql': 'SET session_replication_role = replica',
    'mysql': 'SET SESSION foreign_key_checks = 0',
}
_ON = {
    'sqlite': 'PRAGMA foreign_keys = ON',
    'postgresql': 'SET session_replication_role = DEFAULT',
    'mysql': 'SET SESSION foreign_key_checks = 1',
}

#: Kinds of rows, with the text in their columns. Keys differ only by case and blanks, if the database permits it.
TEXTS = {
    'plain': 'row {}',
    'upper': 'ROW {}',
    'padded': 'row {} ',
    'odd': 'r\u00f6w {} \U0001f4a9 \'"\\%_',
    'long': '{}' + 'x' * 4000,
    'json that is none': '{{"cut {}',
    'bare': '',
}

Rows = dict[str, list[dict[str, Any]]]  # by table


@contextlib.contextmanager
def unguarded(engine: sa.Engine) -> Iterator[Connection]:
    """Yield a connection without checks of foreign keys."""
    with engine.connect() as conn:
        _say(conn, _OFF)
        try:
            yield conn
            conn.commit()
        finally:
            conn.rollback()
            _say(conn, _ON)


def _say(conn: Connection, words: dict[str, str]) -> None:
    """Run a statement outside of a transaction of SQLAlchemy's: SQLite would ignore it in one."""
    conn.connection.cursor().execute(words[conn.dialect.name])
    conn.connection.commit()


def tables(engine: sa.Engine) -> list[sa.Table]:
    """Return the tables as they are."""
    metadata = sa.MetaData()
    metadata.reflect(engine)
    return [table for table in metadata.sorted_tables if table.name != 'alembic_version']


@functools.lru_cache(maxsize=4000)
def _is_key(column: sa.Column) -> bool:
    indexed = any(index.unique and column in list(index.columns) for index in column.table.indexes)
    listed = any(
        isinstance(rule, sa.UniqueConstraint) and column in list(rule.columns)
        for rule in column.table.constraints
    )
    return column.primary_key or indexed or listed


def _value(column: sa.Column, kind: str, number: int) -> Any:
    """Return a value of a column: keys tell rows apart by their number; others are the same in every row of a kind."""
    key = _is_key(column)
    value = number if key else 0
    if isinstance(column.type, sa.String):
        text = '{}' if key and kind == 'bare' else TEXTS[kind]
        return text.format(value)[: column.type.length or 4000]
    if isinstance(column.type, sa.DateTime):
        return datetime.datetime.fromisoformat('1999-12-31 23:59:59') + datetime.timedelta(seconds=value)
    if isinstance(column.type, sa.Boolean):
        return kind == 'plain'
    return value if not column.primary_key else 1 + list(TEXTS).index(kind) * 1000 + number


def _row(table: sa.Table, kind: str, number: int) -> dict[str, Any]:
    return {
        column.key: _value(column, kind, number)
        for column in table.columns
        if kind != 'bare' or not column.nullable
    }


def pollute(engine: sa.Engine, copies: int, first: int = 0, into: Sequence[sa.Table] = ()) -> None:
    """Add ``copies`` rows of each kind to each table, all of them orphans, except those that its keys refuse.
    ``first``: the number of the first row, to tell rows of several calls apart. ``into``: the tables, if they are known.
    """
    with unguarded(engine) as conn:
        for table in into or tables(engine):
            for kinds in (set(TEXTS) - {'bare'}, {'bare'}):  # rows of one statement have the same columns
                _insert(
                    conn,
                    table,
                    [
                        _row(table, kind, number)
                        for kind in TEXTS
                        if kind in kinds
                        for number in range(first, first + copies)
                    ],
                )
            _count_on(conn, table)


def _count_on(conn: Connection, table: sa.Table) -> None:
    """Let PostgreSQL go on with numbers that no row has: it does not count those that were given."""
    if conn.dialect.name == 'postgresql':
        for column in table.primary_key.columns:
            if isinstance(column.type, sa.Integer):
                sequence = sa.func.pg_get_serial_sequence(table.name, column.name)
                conn.execute(sa.select(sa.func.setval(sequence, sa.func.coalesce(sa.func.max(column), 1))))


def _insert(conn: Connection, table: sa.Table, rows: list[dict[str, Any]]) -> None:
    """Insert the rows, one after another, except those that a key refuses."""
    try:
        with conn.begin_nested():
            conn.execute(table.insert(), rows)
    except exception.DBDuplicateEntry:
        middle = len(rows) // 2
        for part in (rows[:middle], rows[middle:]) if middle else ():
            _insert(conn, table, part)


def content(engine: sa.Engine) -> Rows:
    """Return the rows of every table, each as values by column."""
    with engine.connect() as conn:
        return {
            table.name: [dict(row) for row in conn.execute(sa.select(table)).mappings()]
            for table in tables(engine)
        }
