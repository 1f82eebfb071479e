# SPDX-License-Identifier: Apache-2.0
"""Interrupted revisions on MariaDB and MySQL. These commit each change of the schema at once, and record the revision
only after all: the next run begins it anew.
"""

from collections.abc import Callable, Iterable
from typing import Any

import sqlalchemy as sa
from alembic.ddl import base
from sqlalchemy import schema
from sqlalchemy.engine import Connection, Inspector

_NOTHING = sa.DDL('DO 0')  # type: ignore[no-untyped-call]  # SQLAlchemy has no types for it


def skip_what_is_done(conn: Connection) -> None:
    """Skip changes of the schema through ``conn`` that are made already. Other databases roll changes back.

    Changes of rows are repeated, and must allow that.
    """
    if conn.dialect.name in ('mysql', 'mariadb'):
        sa.event.listen(conn, 'before_execute', _skip, retval=True)


def _skip(conn: Connection, clause: Any, several: Any, params: Any, options: Any) -> tuple[Any, Any, Any]:
    if is_made := _MADE.get(type(clause)):
        done = is_made(sa.inspect(conn), clause)
        # To inspect a table SQLAlchemy turns oslo.db's errors off, and leaves them so.
        conn.execution_options(skip_user_error_events=False)
        return _NOTHING if done else clause, several, params
    return clause, several, params


def _table(inspector: Inspector, change: schema.CreateTable) -> bool:
    """Say whether there is such a table. One that has only the name in common does not count."""
    table = change.element
    columns = {column.name for column in table.columns}
    return inspector.has_table(table.name) and _names(inspector.get_columns(table.name)) >= columns


def _index(inspector: Inspector, change: schema.CreateIndex | schema.DropIndex) -> bool:
    table = change.element.table
    assert table is not None  # an index of a revision has one
    return change.element.name in _names(inspector.get_indexes(table.name))


def _constraint(inspector: Inspector, change: schema.AddConstraint | schema.DropConstraint) -> bool:
    table = change.element.table.name
    return change.element.name in _names(
        [
            *inspector.get_foreign_keys(table),
            *inspector.get_unique_constraints(table),
            *inspector.get_check_constraints(table),
        ]
    )


def _column(inspector: Inspector, change: base.AddColumn | base.DropColumn) -> bool:
    return change.column.name in _names(inspector.get_columns(change.table_name))


def _names(descriptions: Iterable[Any]) -> set[str]:
    return {one['name'] for one in descriptions}


#: Functions that say whether a change is made already.
_MADE: dict[type, Callable[[Inspector, Any], bool]] = {
    schema.CreateTable: _table,
    schema.DropTable: lambda inspector, change: not inspector.has_table(change.element.name),
    base.AddColumn: _column,
    base.DropColumn: lambda inspector, change: not _column(inspector, change),
    schema.CreateIndex: _index,
    schema.DropIndex: lambda inspector, change: not _index(inspector, change),
    schema.AddConstraint: _constraint,
    schema.DropConstraint: lambda inspector, change: not _constraint(inspector, change),
}
