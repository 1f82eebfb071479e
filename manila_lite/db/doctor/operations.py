# SPDX-License-Identifier: Apache-2.0
"""Checks of operations for the doctor, and their repair; columns and conditions of the operation that will end a status.

Every write names the values that were seen, so that it changes nothing if another process was faster.
"""

import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from manila_lite.db.core import host_time
from manila_lite.db.models import operations
from manila_lite.db.queries import access
from manila_lite.db.queries.operations import NEWEST_FIRST

#: States of operations that have not ended.
UNDER_WAY = ('open', 'parked')

#: Columns of the operation beside those of the resource that it is on.
OPERATION_COLUMNS = (
    operations.c.id.label('operation_id'),
    operations.c.kind.label('operation_kind'),
    operations.c.state.label('operation_state'),
)


def operation_on(resource_id: Any, *conditions: sa.ColumnElement[bool]) -> sa.ColumnElement[bool]:
    """Return the condition that an operation on the resource has not ended."""
    return sa.and_(operations.c.resource_id == resource_id, operations.c.state.in_(UNDER_WAY), *conditions)


def since(table: sa.Table) -> sa.ColumnElement[datetime.datetime]:
    """Return the column ``since``: when the row was last changed."""
    return sa.func.coalesce(table.c.updated_at, table.c.created_at).label('since')


#: The columns of an operation without its data, and the data as stored text: they may be unreadable.
ALL_COLUMNS = (
    *(column for column in operations.c if column.name != 'data'),
    sa.type_coerce(operations.c.data, sa.Text).label('text'),
)


def list_operations(conn: Connection) -> list[Row[Any]]:
    """Return the operations that are open or parked, oldest first, with their data as ``text``."""
    return list(
        conn.execute(
            sa.select(*ALL_COLUMNS)
            .where(operations.c.state.in_(UNDER_WAY))
            .order_by(operations.c.created_at, operations.c.id)
        )
    )


def last_operation(conn: Connection, resource_id: str) -> Row[Any] | None:
    """Return the last operation that was begun on a resource, except for access rules, with any result."""
    return conn.execute(
        sa.select(*ALL_COLUMNS)
        .where(operations.c.resource_id == resource_id, operations.c.kind != access.SYNC)
        .order_by(*NEWEST_FIRST, operations.c.id.desc())
        .limit(1)
    ).first()


def drop_claim(conn: Connection, seen: Row[Any]) -> bool:
    """Drop the claim of the operation if it is still as ``seen``, and make it due now. Say whether it was."""
    return _due_now(
        conn, seen, operations.c.owner == seen.owner, operations.c.lease_expires_at == seen.lease_expires_at
    )


def make_due(conn: Connection, seen: Row[Any]) -> bool:
    """Make the operation due now if it is still unclaimed. Say whether it was."""
    return _due_now(conn, seen, operations.c.owner.is_(None))


def _due_now(conn: Connection, seen: Row[Any], *conditions: Any) -> bool:
    return bool(
        conn.execute(
            operations.update()
            .where(operations.c.id == seen.id, operations.c.state == 'open', *conditions)
            .values(owner=None, lease_expires_at=None, next_run_at=host_time.now(conn))
        ).rowcount
    )


def delete_parked(conn: Connection, operation_id: str) -> bool:
    """Delete the operation if it is parked. Say whether it was."""
    return bool(
        conn.execute(
            operations.delete().where(operations.c.id == operation_id, operations.c.state == 'parked')
        ).rowcount
    )
