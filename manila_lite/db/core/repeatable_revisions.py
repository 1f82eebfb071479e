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

_NOTHING = sa.DDL('DO 0')


def skip_what_is_done(conn: Connection) -> None:
    """Skip changes of the schema through ``conn`` that are made already. Other databases roll changes back.

    Changes of rows are repeated, and must allow that.
    """
    if conn.dialect.name in ('mysql', 'mariadb'):
        sa.event.listen(conn, 'before_execute', _skip, retval=True)


def _skip(conn: Connection, clause: Any, several: Any, params: Any, options: Any) -> tuple[Any, Any, Any]:
    is_made = _MADE.get(type(clause))
    return _NOTHING if is_made and is_made(sa.inspect(conn), clause) else clause, several, params


def _table(found: Inspector, change: schema.CreateTable) -> bool:
    """Say whether there is such a table. One that has only the name in common does not count."""
    table = change.element
    return found.has_table(table.name) and _names(found.get_columns(table.name)) >= {column.name for column in table.columns}


def _index(found: Inspector, change: schema.CreateIndex | schema.DropIndex) -> bool:
    return change.element.name in _names(found.get_indexes(change.element.table.name))


def _constraint(found: Inspector, change: schema.AddConstraint | schema.DropConstraint) -> bool:
    table = change.element.table.name
    return change.element.name in _names([
        *found.get_foreign_keys(table), *found.get_unique_constraints(table), *found.get_check_constraints(table)])


def _column(found: Inspector, change: base.AddColumn | base.DropColumn) -> bool:
    return change.column.name in _names(found.get_columns(change.table_name))


def _names(found: Iterable[Any]) -> set[str]:
    return {one['name'] for one in found}


#: Functions that say whether a change is made already.
_MADE: dict[type, Callable[[Inspector, Any], bool]] = {
    schema.CreateTable: _table,
    schema.DropTable: lambda found, change: not found.has_table(change.element.name),
    base.AddColumn: _column,
    base.DropColumn: lambda found, change: not _column(found, change),
    schema.CreateIndex: _index,
    schema.DropIndex: lambda found, change: not _index(found, change),
    schema.AddConstraint: _constraint,
    schema.DropConstraint: lambda found, change: not _constraint(found, change),
}
