# SPDX-License-Identifier: Apache-2.0
"""Columns and conditions of the operations that will end a status, for the statements about all resources."""

import datetime
from typing import Any

import sqlalchemy as sa

from manila_lite.db.models import operations

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
