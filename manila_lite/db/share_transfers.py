# SPDX-License-Identifier: Apache-2.0
"""Transfers of shares. One that is accepted, taken back or over is gone: there is no row of it."""

import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from manila_lite import context, errors
from manila_lite.db import models, paging

_transfers = models.share_transfers

#: Everything a list may be sorted by; never what would tell of the key.
SORTABLE = {**{name: _transfers.c[name] for name in ('id', 'name', 'created_at', 'expires_at')},
            'display_name': _transfers.c.name, 'resource_id': _transfers.c.share_id,
            'source_project_id': _transfers.c.project_id,
            # A bare constant is none to sort by for PostgreSQL.
            'resource_type': sa.cast(sa.literal('share'), sa.String(5))}

_EQUAL = {'id': _transfers.c.id, 'name': _transfers.c.name, 'resource_id': _transfers.c.share_id,
          'source_project_id': _transfers.c.project_id}


def get(conn: Connection, ctx: context.RequestContext, ident: str) -> Row:
    """Return a transfer that the caller's project offers (or any project, for an administrator).

    :raises errors.NotFound: there is none.
    """
    mine = [] if ctx.is_admin else [_transfers.c.project_id == ctx.project_id]
    row = conn.execute(sa.select(_transfers).where(_transfers.c.id == ident, *mine)).first()
    if row is None:
        raise errors.NotFound.of('transfer', ident)
    return row


def list_transfers(conn: Connection, filters: dict[str, Any], page: paging.Page, *, project_id: str | None) -> list[Row]:
    """Return the transfers that a project offers (None: that any does)."""
    query = sa.select(_transfers).where(*(column == filters[key] for key, column in _EQUAL.items()
                                          if filters.get(key) is not None))
    if project_id is not None:
        query = query.where(_transfers.c.project_id == project_id)
    return list(conn.execute(page.apply(query, SORTABLE, tie=_transfers.c.id)))


def expired(conn: Connection, now: datetime.datetime) -> list[Row]:
    """Return transfers (id, project_id) whose time is over, the oldest first."""
    return list(conn.execute(sa.select(_transfers.c.id, _transfers.c.project_id).where(_transfers.c.expires_at <= now)
                             .order_by(_transfers.c.expires_at, _transfers.c.id)))


def insert(conn: Connection, values: dict[str, Any]) -> None:
    """The transfer exists."""
    conn.execute(_transfers.insert().values(**values))


def delete(conn: Connection, ident: str) -> bool:
    """The transfer is gone; says whether it was there. Who is told so is the only one."""
    return bool(conn.execute(_transfers.delete().where(_transfers.c.id == ident)).rowcount)


def delete_of(conn: Connection, share_id: str) -> None:
    """The share is offered to nobody."""
    conn.execute(_transfers.delete().where(_transfers.c.share_id == share_id))


def hand_over(conn: Connection, share_id: str, project_id: str, user_id: str | None) -> None:
    """The share and its snapshots are the project's. All locks on it and its rules are lifted."""
    owner = {'project_id': project_id, 'user_id': user_id}
    conn.execute(models.shares.update().where(models.shares.c.id == share_id).values(**owner))
    conn.execute(models.snapshots.update().where(models.snapshots.c.share_id == share_id).values(**owner))
    conn.execute(models.resource_locks.delete().where(models.resource_locks.c.share_id == share_id))
