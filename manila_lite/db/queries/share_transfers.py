# SPDX-License-Identifier: Apache-2.0
"""Transfers of shares. A transfer that was accepted, withdrawn or has expired has no row."""

import datetime
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from manila_lite import context
from manila_lite.db import models
from manila_lite.db.core import paging
from manila_lite.db.core.rows import get_row
from manila_lite.db.queries import operations as operation_rows

_transfers = models.share_transfers

#: All columns that a list may be sorted by; none that could reveal the key.
SORTABLE = {
    **{name: _transfers.c[name] for name in ('id', 'name', 'created_at', 'expires_at')},
    'display_name': _transfers.c.name,
    'resource_id': _transfers.c.share_id,
    'source_project_id': _transfers.c.project_id,
    # PostgreSQL cannot sort by a bare constant.
    'resource_type': sa.cast(sa.literal('share'), sa.String(5)),
}

_EQUAL = {
    'id': _transfers.c.id,
    'name': _transfers.c.name,
    'resource_id': _transfers.c.share_id,
    'source_project_id': _transfers.c.project_id,
}


def get(conn: Connection, ctx: context.RequestContext, transfer_id: str) -> Row[Any]:
    """Return a transfer that the caller's project offers (or any project, for an administrator).

    :raises errors.NotFound: there is none.
    """
    mine = [] if ctx.is_admin else [_transfers.c.project_id == ctx.project_id]
    return get_row(
        conn, sa.select(_transfers).where(_transfers.c.id == transfer_id, *mine), 'transfer', transfer_id
    )


def list_transfers(
    conn: Connection, filters: dict[str, Any], page: paging.Page, *, project_id: str | None
) -> list[Row[Any]]:
    """Return the transfers that a project offers (None: that any project offers)."""
    where = paging.conditions(
        filters, _EQUAL | {'project_id': _transfers.c.project_id}, _EQUAL, (), project_id
    )
    return list(conn.execute(page.apply(sa.select(_transfers).where(*where), SORTABLE, tie=_transfers.c.id)))


class Expired(NamedTuple):
    """A transfer that nobody accepted in time."""

    id: str
    project_id: str


def list_expired(conn: Connection, now: datetime.datetime) -> list[Expired]:
    """Return expired transfers, oldest first."""
    query = sa.select(_transfers.c.id, _transfers.c.project_id).where(_transfers.c.expires_at <= now)
    return [Expired(*row) for row in conn.execute(query.order_by(_transfers.c.expires_at, _transfers.c.id))]


def insert(conn: Connection, values: dict[str, Any]) -> None:
    """Insert the transfer."""
    conn.execute(_transfers.insert().values(**values))


def delete(conn: Connection, transfer_id: str) -> bool:
    """Delete the transfer. Say whether it existed: of several transactions, one is told so."""
    return bool(conn.execute(_transfers.delete().where(_transfers.c.id == transfer_id)).rowcount)


def delete_of_share(conn: Connection, share_id: str) -> None:
    """Delete the transfer of the share, if there is one."""
    conn.execute(_transfers.delete().where(_transfers.c.share_id == share_id))


def give_share(conn: Connection, share_id: str, project_id: str, user_id: str | None) -> None:
    """Give the share, its snapshots and open work on them to the project, and delete all locks on the share and its rules."""
    owner = {'project_id': project_id, 'user_id': user_id}
    snapshots = sa.select(models.snapshots.c.id).where(models.snapshots.c.share_id == share_id)
    operations = models.operations
    conn.execute(
        operations.update()
        .where(
            operations.c.state == operation_rows.OPEN,
            sa.or_(operations.c.resource_id == share_id, operations.c.resource_id.in_(snapshots)),
        )
        .values(**owner)
    )
    conn.execute(models.shares.update().where(models.shares.c.id == share_id).values(**owner))
    conn.execute(models.snapshots.update().where(models.snapshots.c.share_id == share_id).values(**owner))
    conn.execute(models.resource_locks.delete().where(models.resource_locks.c.share_id == share_id))
