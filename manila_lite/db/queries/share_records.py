# SPDX-License-Identifier: Apache-2.0
"""Deletion of a share's record without its backend: operations and other instances that prevent it, and the deletion."""

from typing import NamedTuple

import sqlalchemy as sa
from oslo_utils import timeutils
from sqlalchemy.engine import Connection

from manila_lite.db import models

_operations = models.operations
_snapshots = models.snapshots


def _work(share_id: str) -> sa.ColumnElement[bool]:
    parts = (
        sa.select(table.c.id).where(table.c.share_id == share_id)
        for table in (_snapshots, models.share_instances)
    )
    return sa.and_(
        _operations.c.state.in_(('open', 'parked')),
        sa.or_(_operations.c.resource_id == share_id, *(_operations.c.resource_id.in_(ids) for ids in parts)),
    )


class OpenOperation(NamedTuple):
    """An operation that has not ended. ``held``: it is claimed."""

    resource_id: str
    kind: str
    held: bool


def list_open_operations(conn: Connection, share_id: str) -> list[OpenOperation]:
    """Return the operations on the share, its snapshots and its replicas that have not ended."""
    held = sa.func.coalesce(_operations.c.lease_expires_at >= timeutils.utcnow(), sa.false()).label('held')
    query = sa.select(_operations.c.resource_id, _operations.c.kind, held).where(_work(share_id))
    return [OpenOperation(*row) for row in conn.execute(query)]


def list_instances(conn: Connection, share_id: str) -> list[tuple[str, str | None]]:
    """Return ids and hosts of the share's instances, which go with its record; its own one is the first."""
    table = models.share_instances
    return [
        (row.id, row.host)
        for row in conn.execute(
            sa.select(table.c.id, table.c.host)
            .where(table.c.share_id == share_id)
            .order_by(table.c.is_secondary, table.c.created_at, table.c.id)
        )
    ]


def delete_snapshots(conn: Connection, share_id: str) -> int:
    """Delete the records of the share's snapshots, and its members of group snapshots. Return their number."""
    return sum(
        conn.execute(table.delete().where(table.c.share_id == share_id)).rowcount
        for table in (_snapshots, models.share_group_snapshot_members)
    )
