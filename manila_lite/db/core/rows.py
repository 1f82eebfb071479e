# SPDX-License-Identifier: Apache-2.0
"""Rows of a result: one, or the error of a resource that does not exist; and rows in groups."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from manila_lite import errors


def get_row(conn: Connection, query: sa.Select[Any], resource_name: str, resource_id: object) -> Row[Any]:
    """Return the first row of the query. The name and the id are for the message of the error.

    :raises errors.NotFound: there is none.
    """
    return found(conn.execute(query).first(), resource_name, resource_id)


def found(row: Row[Any] | None, resource_name: str, resource_id: object) -> Row[Any]:
    """Return the row that a query found, if any.

    :raises errors.NotFound: there is none.
    """
    if row is None:
        raise errors.NotFound.of(resource_name, resource_id)
    return row


def group_rows(rows: Iterable[Row[Any]], name: str) -> dict[str, list[Row[Any]]]:
    """Return the rows by their value of the column ``name``. A value that no row has stands for no rows."""
    groups: dict[str, list[Row[Any]]] = defaultdict(list)
    for row in rows:
        groups[getattr(row, name)].append(row)
    return groups


def updater(table: sa.Table) -> Callable[..., None]:
    """Return a function that sets values of the row with an id, if any are given: ``(conn, row_id, **values)``."""

    def update(conn: Connection, row_id: str, /, **values: Any) -> None:
        if values:
            conn.execute(table.update().where(table.c.id == row_id).values(**values))

    return update


def deleter(table: sa.Table) -> Callable[[Connection, str], None]:
    """Return a function that deletes the row with an id."""

    def delete(conn: Connection, row_id: str) -> None:
        conn.execute(table.delete().where(table.c.id == row_id))

    return delete
