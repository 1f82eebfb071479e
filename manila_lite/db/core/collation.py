# SPDX-License-Identifier: Apache-2.0
"""Comparison of names on MariaDB and MySQL. By default ``A`` equals ``a`` there, and also ``a`` with a blank at the end."""

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.engine import Connection

#: A foreign key: table, column, the table that it points to, and the action when that row is deleted.
ForeignKey = tuple[str, str, str, str | None]

#: Without padding, so that blanks at the end count. MySQL has another name for this collation.
_EXACT = {True: 'utf8mb4_nopad_bin', False: 'utf8mb4_0900_bin'}


def exact(foreign_keys: Iterable[ForeignKey]) -> None:
    """Make names compare exactly in all tables, including those of later revisions. For a revision, with the foreign
    keys as of that revision; other databases compare exactly anyway.

    No rows can collide that did not before, so any rows are allowed. MariaDB cannot roll a change of the schema back:
    after an interruption, this can be run again.
    """
    conn = op.get_bind()
    dialect: Any = conn.dialect
    if dialect.name not in ('mysql', 'mariadb'):
        return
    keys = tuple(foreign_keys)
    into = f'CHARACTER SET utf8mb4 COLLATE {_EXACT[dialect.is_mariadb]}'
    conn.exec_driver_sql(f'ALTER DATABASE {into}')
    with _orphans_are_let_be(conn):
        _drop(conn, {table for table, *_ in keys})
        for table in sa.inspect(conn).get_table_names():
            conn.exec_driver_sql(f'ALTER TABLE {dialect.identifier_preparer.quote(table)} CONVERT TO {into}')
        for table, column, target, gone in keys:
            op.create_foreign_key(f'fk_{table}_{column}', table, target, [column], ['id'], ondelete=gone)


@contextlib.contextmanager
def _orphans_are_let_be(conn: Connection) -> Iterator[None]:
    before = conn.exec_driver_sql('SELECT @@SESSION.foreign_key_checks').scalar()
    conn.exec_driver_sql('SET SESSION foreign_key_checks = 0')
    try:
        yield
    finally:
        conn.exec_driver_sql(f'SET SESSION foreign_key_checks = {before}')


def _drop(conn: Connection, tables: Iterable[str]) -> None:
    """Drop the foreign keys of these tables: the two ends of a foreign key cannot change in one statement."""
    inspector = sa.inspect(conn)
    for table in tables:
        for key in inspector.get_foreign_keys(table):
            assert key['name'] is not None  # MariaDB names each
            op.drop_constraint(key['name'], table, type_='foreignkey')
