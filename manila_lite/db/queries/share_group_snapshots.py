# SPDX-License-Identifier: Apache-2.0
"""Snapshots of share groups, and their members: the snapshots of single shares."""

from collections.abc import Iterable, Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from manila_lite import context
from manila_lite.db import models
from manila_lite.db.core import paging, row_locks
from manila_lite.db.core.prepared import WriteEach
from manila_lite.db.core.rows import get_row, group_rows, updater
from manila_lite.db.queries import shares

_snapshots = models.share_group_snapshots
_members = models.share_group_snapshot_members
_groups = models.share_groups
_shares = models.shares
_instances = models.share_instances

#: All columns that a list may be sorted by.
SORTABLE = {**{column.name: column for column in _snapshots.c}, 'host': _groups.c.host}


def get(conn: Connection, ctx: context.RequestContext, group_snapshot_id: str) -> Row[Any]:
    """Return a group snapshot of the caller's project.

    :raises errors.NotFound: there is none.
    """
    mine = [] if ctx.is_admin else [_snapshots.c.project_id == ctx.project_id]
    query = sa.select(_snapshots).where(_snapshots.c.id == group_snapshot_id, *mine)
    return get_row(conn, query, 'share group snapshot', group_snapshot_id)


def find(conn: Connection, group_snapshot_id: str) -> Row[Any] | None:
    """Return a group snapshot of any project, or None."""
    return conn.execute(sa.select(_snapshots).where(_snapshots.c.id == group_snapshot_id)).first()


_EQUAL = ('name', 'description', 'status', 'share_group_id')


def list_snapshots(
    conn: Connection, filters: dict[str, Any], page: paging.Page, *, project_id: str | None
) -> list[Row[Any]]:
    """Return group snapshots of a project (None: of all)."""
    where = paging.conditions(filters, _snapshots.c, _EQUAL, ('name', 'description'), project_id)
    query = sa.select(_snapshots).join(_groups, _groups.c.id == _snapshots.c.share_group_id).where(*where)
    return list(conn.execute(page.apply(query, SORTABLE, tie=_snapshots.c.id)).all())


#: Set these values of the group snapshot. Never a status.
update = updater(_snapshots)


def lock(conn: Connection, group_snapshot_id: str, statuses: Iterable[str]) -> bool:
    """Lock the group snapshot's status until the transaction ends. Say whether it is one of these."""
    return row_locks.lock(
        conn, _snapshots, _snapshots.c.id == group_snapshot_id, _snapshots.c.status.in_(tuple(statuses))
    )


# Members ----------------------------------------------------------------------------------------


def insert_members(conn: Connection, rows: Iterable[dict[str, Any]]) -> None:
    """Insert these members."""
    if values := list(rows):
        conn.execute(_members.insert(), values)


def members_of(conn: Connection, group_snapshot_ids: Iterable[str]) -> dict[str, list[Row[Any]]]:
    """Return the members of group snapshots with their shares' project, by group snapshot id, in one statement."""
    query = (
        sa.select(*_members.c, _shares.c.project_id, _shares.c.name)
        .join(_shares, _shares.c.id == _members.c.share_id)
        .where(_members.c.share_group_snapshot_id.in_(tuple(group_snapshot_ids)))
        .order_by(_members.c.created_at, _members.c.id)
    )
    return group_rows(conn.execute(query), 'share_group_snapshot_id')


def with_shares(conn: Connection, group_snapshot_id: str) -> list[tuple[Row[Any], Row[Any]]]:
    """Return the members of a group snapshot, each with its share's row, of any project."""
    return _with_shares(conn, _members.c.share_group_snapshot_id == group_snapshot_id)


def with_share(conn: Connection, member_id: str) -> tuple[Row[Any], Row[Any]] | None:
    """Return the member of this id with its share's row, or None, of any project."""
    return next(iter(_with_shares(conn, _members.c.id == member_id)), None)


def _with_shares(conn: Connection, which: sa.ColumnElement[bool]) -> list[tuple[Row[Any], Row[Any]]]:
    members = conn.execute(
        sa.select(_members).where(which).order_by(_members.c.created_at, _members.c.id)
    ).all()
    wanted = [row.share_id for row in members]
    rows = {row.id: row for row in conn.execute(shares.select().where(_shares.c.id.in_(wanted)))}
    return [(row, rows[row.share_id]) for row in members]


def set_locations(conn: Connection, locations: Mapping[str, str | None]) -> None:
    """Store the members' locations at the backend, by member id."""
    _LOCATIONS.execute(conn, dict(sorted(locations.items())))


_LOCATIONS = WriteEach(_members.update(), _members.c.id, _members.c.provider_location)


def count_members(conn: Connection, share_id: str) -> int:
    """Return how many group snapshots have a member of a share."""
    return conn.execute(sa.select(sa.func.count()).where(_members.c.share_id == share_id)).scalar_one()


def find_share_being_created(conn: Connection, group_snapshot_id: str) -> str | None:
    """Return the id of a share that is being created from the group snapshot at this moment, or None."""
    return conn.execute(
        sa.select(_shares.c.id)
        .join(_instances, _instances.c.share_id == _shares.c.id)
        .join(_members, _members.c.id == _shares.c.source_share_group_snapshot_member_id)
        .where(_members.c.share_group_snapshot_id == group_snapshot_id, _instances.c.status == 'creating')
        .limit(1)
    ).scalar()
