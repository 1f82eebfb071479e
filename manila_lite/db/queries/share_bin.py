# SPDX-License-Identifier: Apache-2.0
"""Shares in the recycle bin, and shares and snapshots whose deferred deletion failed."""

import datetime
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from manila_lite import states
from manila_lite.db import models

_shares = models.shares
_instances = models.share_instances
_snapshots = models.snapshots


class Expired(NamedTuple):
    """A share whose time in the bin is over."""

    id: str
    project_id: str
    user_id: str | None


class Left(NamedTuple):
    """A share or snapshot at a backend; ``host`` and ``instance_id`` are those of the share's main instance."""

    id: str
    project_id: str
    user_id: str | None
    host: str
    instance_id: str


def list_expired(conn: Connection, now: datetime.datetime) -> list[Expired]:
    """Return shares whose time in the bin is over and that can be deleted, oldest first."""
    return [
        Expired(*row)
        for row in conn.execute(
            sa.select(_shares.c.id, _shares.c.project_id, _shares.c.user_id)
            .join(_instances, sa.and_(_instances.c.share_id == _shares.c.id, ~_instances.c.is_secondary))
            .where(
                _shares.c.is_soft_deleted,
                _shares.c.scheduled_to_be_deleted_at <= now,
                _instances.c.status.in_(states.SHARE['delete'].allowed),
            )
            .order_by(_shares.c.scheduled_to_be_deleted_at, _shares.c.id)
        )
    ]


def list_deferred_shares(conn: Connection, host: str, status: str) -> list[Left]:
    """Return shares at a backend that are in the status."""
    return _left(conn, host, _shares, _shares.c.id, _instances.c.status == status)


def list_deferred_snapshots(conn: Connection, host: str, status: str) -> list[Left]:
    """Return snapshots at a backend in the status."""
    return _left(conn, host, _snapshots, _snapshots.c.share_id, _snapshots.c.status == status)


def _left(
    conn: Connection,
    host: str,
    table: sa.Table,
    share_id: sa.ColumnElement[str],
    where: sa.ColumnElement[bool],
) -> list[Left]:
    return [
        Left(*row)
        for row in conn.execute(
            sa.select(
                table.c.id,
                table.c.project_id,
                table.c.user_id,
                _instances.c.host,
                _instances.c.id.label('instance_id'),
            )
            .join(_instances, sa.and_(_instances.c.share_id == share_id, ~_instances.c.is_secondary))
            .where(_instances.c.host.startswith(f'{host}#', autoescape=True), where)
            .order_by(table.c.id)
        )
    ]
