# SPDX-License-Identifier: Apache-2.0
"""What a service does now, for an overview that is asked for again and again. No statement reads more for a longer past."""

import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from manila_lite.db.models import operations
from manila_lite.db.queries import operation_views
from manila_lite.db.queries.operations import PARKED

#: Operations that have not ended. There is an index on the end, and of those that have one there may be many.
_IS_OPEN = operations.c.finished_at.is_(None)


def count_open(conn: Connection) -> tuple[int, int]:
    """Return how many operations run, and how many wait."""
    running, both = conn.execute(
        sa.select(sa.func.count(operations.c.owner), sa.func.count()).where(_IS_OPEN)
    ).one()
    return running, both - running


def count_ended(conn: Connection, since: datetime.datetime) -> dict[str, int]:
    """Return how many operations have ended since a time, by state."""
    query = sa.select(operations.c.state, sa.func.count()).where(operations.c.finished_at >= since)
    return dict(conn.execute(query.group_by(operations.c.state)).all())


def list_operations(conn: Connection, since: datetime.datetime, most: int) -> list[Row[Any]]:
    """Return at most so many operations: those that were parked since a time, those that run, and those that wait.

    Of each sort, those that began first. They have their data as ``text``.
    """
    is_parked = operations.c.state == PARKED
    query = operation_views.SELECT.where(
        sa.or_(_IS_OPEN, sa.and_(operations.c.finished_at >= since, is_parked))
    )
    sort = sa.case((is_parked, 0), (operations.c.owner.is_not(None), 1), else_=2)
    return list(conn.execute(query.order_by(sort, operations.c.created_at, operations.c.id).limit(most)))
