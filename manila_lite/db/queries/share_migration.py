# SPDX-License-Identifier: Apache-2.0
"""Migrations of single shares: a second instance at the target, which changes places with the first at the cut-over."""

from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from manila_lite.db import models
from manila_lite.db.core.prepared import Query, one_of
from manila_lite.db.queries import operations, shares
from manila_lite.operation_data.migrations import MigrateShare
from manila_lite.states import Migration

_instances = models.share_instances
_snapshots = models.snapshots
_operations = models.operations

KIND, CHECK, RELEASE = 'share.migrate', 'share.migration_check', 'share.release'
#: The operation that deletes the copy of a migration that was cancelled without its target's backend.
CLEAR = 'share.clear'
#: The operation at the source's backend that ends the exports of the share and its snapshots there.
CLOSE = 'share.close'


def share_of(conn: Connection, share_id: str) -> list[Row[Any]]:
    """Return the share, in any status, or nothing if it is gone."""
    return list(conn.execute(shares.select().where(_instances.c.share_id == share_id)))


def snapshots_of(conn: Connection, share_id: str) -> list[Row[Any]]:
    """Return all snapshots of the share, in any status."""
    return list(
        conn.execute(sa.select(_snapshots).where(_snapshots.c.share_id == share_id).order_by(_snapshots.c.id))
    )


def last(conn: Connection, share_id: str) -> operations.Operation | None:
    """Return the newest migration of the share, running or not."""
    migrations = operations.list_of_resource(conn, share_id, KIND)
    return migrations[-1] if migrations else None


def copy_in_making(conn: Connection, share_id: str) -> str | None:
    """Return the id of a share that is being created from a snapshot of this one at this moment, or None."""
    others = models.shares
    mine = sa.select(_snapshots.c.id).where(_snapshots.c.share_id == share_id)
    return conn.execute(
        sa.select(others.c.id)
        .join(_instances, _instances.c.share_id == others.c.id)
        .where(
            others.c.snapshot_id.in_(mine), _instances.c.status.in_(('creating', 'creating_from_snapshot'))
        )
        .limit(1)
    ).scalar()


_GOING_ON = Query(
    sa.select(_operations.c.id).where(
        _operations.c.resource_id == sa.bindparam('share_id', type_=sa.String),
        _operations.c.kind == KIND,
        one_of(_operations.c.state, (operations.OPEN, operations.PARKED)),
    )
)


def is_going_on(conn: Connection, share_id: str) -> bool:
    """Say whether the share has a migration that is open, or parked: an operator can let it go on."""
    return _GOING_ON.first(conn, {'share_id': share_id}) is not None


def is_half_moved(conn: Connection, share_id: str, instance_id: str) -> bool:
    """Say whether the instance is the target of a migration whose cut-over failed: it may hold the only data."""
    half_done = any(
        share.status == 'error' and share.task_state == Migration.ERROR for share in share_of(conn, share_id)
    )
    op = last(conn, share_id) if half_done else None
    if op is None or op.state != operations.FAILED:
        return False
    data = MigrateShare.from_json(op.data)
    return data.cut and data.target == instance_id


def moves_on(conn: Connection, share_id: str, left: str) -> bool:
    """Say whether a later migration of the share began than that which left the second instance ``left``."""
    op = last(conn, share_id)
    return op is not None and MigrateShare.from_json(op.data).instance != left


def comes_to(conn: Connection, server_id: str) -> str | None:
    """Return the id of a share that has a second instance on the share server, or None."""
    return conn.execute(
        sa.select(_instances.c.share_id)
        .where(_instances.c.share_server_id == server_id, _instances.c.is_secondary)
        .limit(1)
    ).scalar()
