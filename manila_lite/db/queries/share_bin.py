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


def list_deferred(conn: Connection, host: str, machine: states.StateMachine) -> list[Left]:
    """Return shares or snapshots at a backend whose deferred deletion has failed."""
    table, share_id, status = _DEFERRED[machine.resource_type]
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
            .where(_instances.c.host.startswith(f'{host}#', autoescape=True), status == machine['defer'].fail)
            .order_by(table.c.id)
        )
    ]


#: Tables of what can be in the bin, with the columns of its share and its status.
_DEFERRED = {
    states.SHARE.resource_type: (_shares, _shares.c.id, _instances.c.status),
    states.SNAPSHOT.resource_type: (_snapshots, _snapshots.c.share_id, _snapshots.c.status),
}
