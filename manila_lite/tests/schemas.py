# SPDX-License-Identifier: Apache-2.0
"""The newest schema in an empty database. Hundreds of classes of tests want one each, so it is made quickly.

The first one of a process is made table by table. On SQLite the others are copies of it. On a server they are made by the
statements that made the first one, which SQLAlchemy has to compile only once.
"""

import sqlite3
from typing import Any

import sqlalchemy as sa

from manila_lite.db.maintenance import schema_migrations

#: The first word of each statement that makes a schema. The others look what is there.
_MAKING = frozenset({'ALTER', 'COMMENT', 'CREATE', 'INSERT'})

#: Conditions of indexes that the migrations make, and the models leave out.
_CONDITIONS = {'ix_operations_claims': 'owner IS NOT NULL'}

_copies: dict[sa.MetaData, sqlite3.Connection] = {}
_statements: dict[tuple[str, sa.MetaData], list[tuple[str, Any]]] = {}


def newest_schema(db, metadata):
    """Create the tables of the newest revision at once: test_migrations tests that all revisions lead to them."""
    if db.engine.dialect.name == 'sqlite':
        _copy(db, metadata)
    else:
        _repeat(db, metadata)


def make_tables(engine, metadata):
    """Make the tables of the models, with what only the migrations say of them."""
    for index in (
        index for table in metadata.tables.values() for index in table.indexes if index.name in _CONDITIONS
    ):
        for dialect in ('postgresql', 'sqlite'):
            index.dialect_options[dialect]['where'] = sa.text(_CONDITIONS[index.name])
    metadata.create_all(engine)


def _make(db, metadata):
    if db.engine.dialect.name in ('mysql', 'mariadb'):
        with db.engine.begin() as conn:
            # Same collation as in manila_lite.db.core.collation.
            conn.exec_driver_sql('ALTER DATABASE CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin')
    make_tables(db.engine, metadata)
    schema_migrations.stamp(db, 'head')


def _copy(db, metadata):
    if metadata not in _copies:
        _make(db, metadata)
    with db.engine.connect() as conn:
        here = conn.connection.driver_connection
        if metadata in _copies:
            _copies[metadata].backup(here)
        else:
            there = sqlite3.connect(':memory:', check_same_thread=False)
            here.backup(there)
            _copies[metadata] = there


def _repeat(db, metadata):
    key = (db.engine.dialect.name, metadata)
    if key not in _statements:
        _statements[key] = _noted(db, metadata)
        return
    with db.engine.begin() as conn:
        cursor = conn.connection.cursor()
        for statement, parameters in _statements[key]:
            cursor.execute(statement, parameters)
        cursor.close()


def _noted(db, metadata):
    """Make the schema, and return the statements that did it."""
    made = []

    def note(conn, cursor, statement, parameters, context, executemany):
        if statement.split(None, 1)[0].upper() in _MAKING:
            made.append((statement, parameters))

    sa.event.listen(db.engine, 'before_cursor_execute', note)
    try:
        _make(db, metadata)
    finally:
        sa.event.remove(db.engine, 'before_cursor_execute', note)
    return made
