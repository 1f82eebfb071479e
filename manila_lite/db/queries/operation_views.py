# SPDX-License-Identifier: Apache-2.0
"""Operations for their owners and administrators to read. An unreadable one hides no other."""

import json
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from manila_lite import context
from manila_lite.db.core import paging
from manila_lite.db.core.rows import get_row
from manila_lite.db.models import operations
from manila_lite.db.queries import operations as rows
from manila_lite.operation_data import OperationData

#: Resource types that projects see, as they see the resources. The others (share servers, services) are for administrators.
OWN_TYPES = (
    'share',
    'snapshot',
    'share_network',
    'share_replica',
    'share_backup',
    'share_group',
    'share_group_snapshot',
    'schedule',
)

#: Operations of any project, with their data as ``text``: reading invalid JSON would fail.
SELECT = sa.select(
    *(column for column in operations.c if column.name != 'data'),
    sa.type_coerce(operations.c.data, sa.Text).label('text'),
)
_EQUAL = ('id', 'state', 'kind', 'resource_type', 'resource_id', 'request_id', 'user_id', 'host')
_SORTED = {
    name: operations.c[name]
    for name in (
        'created_at',
        'updated_at',
        'finished_at',
        'next_run_at',
        'id',
        'kind',
        'state',
        'resource_id',
    )
}


def _visible(ctx: context.RequestContext) -> sa.Select[Any]:
    if ctx.is_admin:
        return SELECT
    return SELECT.where(operations.c.project_id == ctx.project_id, operations.c.resource_type.in_(OWN_TYPES))


def get(conn: Connection, ctx: context.RequestContext, operation_id: str) -> Row[Any]:
    """Return an operation that the caller may see.

    :raises errors.NotFound: there is none.
    """
    return get_row(conn, _visible(ctx).where(operations.c.id == operation_id), 'operation', operation_id)


def list_operations(
    conn: Connection,
    ctx: context.RequestContext,
    filters: dict[str, Any],
    page: paging.Page,
    *,
    project_id: str | None,
) -> list[Row[Any]]:
    """Return operations of a project (None: of all) that the caller may see and that equal the filters.

    ``created_since`` and ``created_before`` are datetimes.
    """
    query = _visible(ctx)
    if project_id is not None:
        query = query.where(operations.c.project_id == project_id)
    for key in _EQUAL:
        if filters.get(key) is not None:
            query = query.where(operations.c[key] == filters[key])
    if filters.get('created_since') is not None:
        query = query.where(operations.c.created_at >= filters['created_since'])
    if filters.get('created_before') is not None:
        query = query.where(operations.c.created_at <= filters['created_before'])
    return list(conn.execute(page.apply(query, _SORTED, tie=operations.c.id)))


def phase(row: Row[Any]) -> str:
    """Return the name of the step that runs now or next.

    The row does not know it before a worker has begun: it is at the scheduler to be placed, or else it is named by the
    verb of its kind.
    """
    name = rows.PLACE if row.topic == 'scheduler' else row.kind.rpartition('.')[2]
    return rows.step_name(row) or name


def data(row: Row[Any]) -> OperationData:
    """Return the data common to all operations, and the rest as ``others``; empty data if they cannot be read."""
    try:
        return OperationData.from_json(json.loads(row.text))
    except ValueError:
        return OperationData()
