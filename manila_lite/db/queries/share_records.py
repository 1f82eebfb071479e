# SPDX-License-Identifier: Apache-2.0
"""Deletion of a share's record without its backend: the operations that prevent it, and the deletion."""

from typing import Any

import sqlalchemy as sa
from oslo_utils import timeutils
from sqlalchemy.engine import Connection, Row

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


def list_open_operations(conn: Connection, share_id: str) -> list[Row[Any]]:
    """Return resource and kind of the operations on the share, its snapshots and its replicas that have not ended, and
    ``held``: whether the operation is claimed.
    """
    held = sa.func.coalesce(_operations.c.lease_expires_at >= timeutils.utcnow(), sa.false()).label('held')
    return list(
        conn.execute(sa.select(_operations.c.resource_id, _operations.c.kind, held).where(_work(share_id)))
    )


def delete_snapshots(conn: Connection, share_id: str) -> int:
    """Delete the records of the share's snapshots, and its members of group snapshots. Return their number."""
    return sum(
        conn.execute(table.delete().where(table.c.share_id == share_id)).rowcount
        for table in (_snapshots, models.share_group_snapshot_members)
    )
