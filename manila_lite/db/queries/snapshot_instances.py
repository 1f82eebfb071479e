# SPDX-License-Identifier: Apache-2.0
"""Snapshot instances, for administrators: one at the share's host, and one at each replica that holds the snapshot."""

from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from manila_lite import context
from manila_lite.db import models
from manila_lite.db.core import paging
from manila_lite.db.core.rows import get_row

_snapshots = models.snapshots
_instances = models.share_instances

_held = models.replica_snapshots

_OF_COPY = ('id', 'created_at', 'updated_at', 'provider_location')
#: A row for each snapshot at its share's host, and one for each replica that holds it.
_all = sa.union_all(
    sa.select(
        *_snapshots.c, _snapshots.c.id.label('snapshot_id'), _instances.c.id.label('share_instance_id')
    ).join(_instances, sa.and_(_instances.c.share_id == _snapshots.c.share_id, ~_instances.c.is_secondary)),
    sa.select(
        *(_held.c[column.name] if column.name in _OF_COPY else column for column in _snapshots.c),
        _snapshots.c.id.label('snapshot_id'),
        _held.c.share_instance_id,
    ).join(_held, _held.c.snapshot_id == _snapshots.c.id),
).subquery('snapshot_instances')

#: All columns that a list may be sorted by.
SORTABLE = {column.name: column for column in _all.c}

_EQUAL = {name: _all.c[name] for name in ('id', 'snapshot_id', 'share_id', 'share_instance_id', 'status')}


def _mine(ctx: context.RequestContext) -> list[sa.ColumnElement[bool]]:
    return [] if ctx.is_admin else [_all.c.project_id == ctx.project_id, ~_all.c.deletion_deferred]


def get(conn: Connection, ctx: context.RequestContext, instance_id: str) -> Row[Any]:
    """Return an instance of a snapshot of the caller's project (of any, for an administrator).

    :raises errors.NotFound: there is none.
    """
    return get_row(
        conn, sa.select(_all).where(_all.c.id == instance_id, *_mine(ctx)), 'snapshot instance', instance_id
    )


def list_instances(
    conn: Connection, ctx: context.RequestContext, filters: dict[str, Any], page: paging.Page
) -> list[Row[Any]]:
    """Return instances as ``get`` does; filters by columns."""
    query = sa.select(_all).where(*_mine(ctx), *paging.conditions(filters, _EQUAL, _EQUAL))
    return list(conn.execute(page.apply(query, SORTABLE, tie=_all.c.id)).all())
