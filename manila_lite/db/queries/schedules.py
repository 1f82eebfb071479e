# SPDX-License-Identifier: Apache-2.0
"""Schedules, the shares that they select, and the copies that they made."""

import datetime
from collections.abc import Mapping
from typing import Any, NamedTuple

import sqlalchemy as sa
from oslo_utils import strutils
from sqlalchemy.engine import Connection, Row

from manila_lite import context, states
from manila_lite.db import models
from manila_lite.db.core import key_values, paging
from manila_lite.db.core.rows import get_row
from manila_lite.db.queries import shares

_schedules = models.schedules
_copies = models.schedule_copies
_shares = models.shares
_instances = models.share_instances
_operations = models.operations

#: The kind of operation that is one run of a schedule.
KIND = 'schedule.run'
#: The types of its resource. Operations of the second one are for administrators: they name shares of other projects.
RESOURCE_TYPE, OF_ALL_PROJECTS = 'schedule', 'schedule_of_all_projects'

#: All columns that a list may be sorted by; not the values that have parts.
SORTABLE = {
    column.name: column
    for column in _schedules.c
    if column.name not in ('share_ids', 'share_metadata', 'keep', 'problem', 'problem_code')
}

#: The action that makes nothing: it brings replicas of shares up to date.
RESYNC = 'replica_resync'

#: The tables of what a schedule makes, by type.
COPIES = {
    'snapshot': models.snapshots,
    'share_backup': models.share_backups,
    'share_group_snapshot': models.share_group_snapshots,
}
#: The property of a snapshot by which its owner keeps every schedule from deleting it.
HOLD = 'schedule:hold'


def unique_key(schedule_id: str) -> str:
    """Return the key of the schedule's run: at most one is open."""
    return f'schedule:{schedule_id}'


def get(conn: Connection, ctx: context.RequestContext, schedule_id: str) -> Row[Any]:
    """Return a schedule of the caller's project. Those about all projects are for administrators.

    :raises errors.NotFound: there is none.
    """
    query = sa.select(_schedules).where(_schedules.c.id == schedule_id)
    if not ctx.is_admin:
        query = query.where(_of_project(ctx.project_id), ~_schedules.c.all_projects)
    return get_row(conn, query, RESOURCE_TYPE, schedule_id)


def _of_project(project_id: str | None) -> sa.ColumnElement[bool]:
    return _schedules.c.project_id == project_id


def find(conn: Connection, schedule_id: str) -> Row[Any] | None:
    """Return a schedule of any project, or None."""
    return conn.execute(sa.select(_schedules).where(_schedules.c.id == schedule_id)).first()


_EQUAL = ('id', 'name', 'action', 'share_type_id')


def list_schedules(
    conn: Connection,
    ctx: context.RequestContext,
    filters: Mapping[str, Any],
    page: paging.Page,
    *,
    project_id: str | None,
) -> list[Row[Any]]:
    """Return the schedules of a project (None: of all)."""
    query = sa.select(_schedules).where(*paging.conditions(filters, _schedules.c, _EQUAL))
    if project_id is not None:
        query = query.where(_of_project(project_id))
    if not ctx.is_admin:
        query = query.where(~_schedules.c.all_projects)
    return list(conn.execute(page.apply(query, SORTABLE, tie=_schedules.c.id)))


def count_of(conn: Connection, project_id: str) -> int:
    """Return how many schedules a project has."""
    return conn.execute(
        sa.select(sa.func.count()).select_from(_schedules).where(_of_project(project_id))
    ).scalar_one()


def insert(conn: Connection, values: Mapping[str, Any]) -> None:
    """Insert a schedule."""
    conn.execute(_schedules.insert().values(**values))


def update(conn: Connection, schedule_id: str, **values: Any) -> None:
    """Set these values of the schedule."""
    if values:
        conn.execute(_schedules.update().where(_schedules.c.id == schedule_id).values(**values))


def delete(conn: Connection, schedule_id: str) -> None:
    """Delete the schedule and the marks of what it made, which stays."""
    conn.execute(_schedules.delete().where(_schedules.c.id == schedule_id))


# Runs ---------------------------------------------------------------------------------------------


def list_due(conn: Connection, now: datetime.datetime, most: int) -> list[Row[Any]]:
    """Return schedules whose time has come, those that wait longest first; not those whose last run has not ended."""
    running = sa.exists().where(_operations.c.unique_key == sa.literal('schedule:') + _schedules.c.id)
    return list(
        conn.execute(
            sa.select(_schedules)
            .where(_schedules.c.next_run_at <= now, ~running)
            .order_by(_schedules.c.next_run_at, _schedules.c.id)
            .limit(most)
        )
    )


def claim(
    conn: Connection, schedule_id: str, due: datetime.datetime, following: datetime.datetime | None
) -> bool:
    """Set the next time of the schedule, if it is still ``due``. Say whether it was: of several schedulers, one is told so."""
    return bool(
        conn.execute(
            _schedules.update()
            .where(_schedules.c.id == schedule_id, _schedules.c.next_run_at == due)
            .values(next_run_at=following)
        ).rowcount
    )


class Source(NamedTuple):
    """A share that a schedule selects, with its owner, its group and its status."""

    id: str
    project_id: str
    user_id: str | None
    share_group_id: str | None
    status: str

    @property
    def is_broken(self) -> bool:
        """Say whether the share stays as it is until somebody does something about it."""
        return self.status not in states.SHARE.transient | {states.SHARE['create'].ok}


#: Statuses of shares that are not there yet, or no more. A share without a host never was.
_ABSENT = tuple(states.SHARE[verb].during for verb in ('create', 'delete', 'defer'))


def list_sources(conn: Connection, schedule: Row[Any]) -> list[Source]:
    """Return the shares that the schedule selects now."""
    query = (
        sa.select(
            _shares.c.id,
            _shares.c.project_id,
            _shares.c.user_id,
            _shares.c.share_group_id,
            _instances.c.status,
        )
        .join(_instances, sa.and_(_instances.c.share_id == _shares.c.id, ~_instances.c.is_secondary))
        .where(~_shares.c.is_soft_deleted, ~_shares.c.deletion_deferred, _instances.c.status.not_in(_ABSENT))
        .where(_instances.c.host.is_not(None))
        .where(*key_values.matching(models.share_metadata, _shares.c.id, schedule.share_metadata or {}))
    )
    if not schedule.all_projects:
        query = query.where(_shares.c.project_id == schedule.project_id)
    if schedule.share_ids is not None:
        query = query.where(_shares.c.id.in_(tuple(schedule.share_ids)))
    if schedule.share_type_id is not None:
        query = query.where(_instances.c.share_type_id == schedule.share_type_id)
    return [Source(*row) for row in conn.execute(query.order_by(_shares.c.id))]


# What they made -----------------------------------------------------------------------------------


class Copy(NamedTuple):
    """What a schedule made. Without a status it is gone."""

    id: str
    schedule_id: str
    resource_type: str
    source_id: str
    run_at: datetime.datetime
    was_good: bool
    status: str | None
    project_id: str | None


def add_copy(conn: Connection, **values: Any) -> None:
    """Mark a resource as made by a schedule."""
    conn.execute(_copies.insert().values(**values))


def list_copies(conn: Connection, schedule_id: str, run_at: datetime.datetime | None = None) -> list[Copy]:
    """Return what the schedule made, or what one of its runs made, the oldest first."""
    query = _select_copies().where(_copies.c.schedule_id == schedule_id)
    if run_at is not None:
        query = query.where(_copies.c.run_at == run_at)
    return [Copy(*row) for row in conn.execute(query)]


def list_copies_of(conn: Connection, ctx: context.RequestContext, share_id: str) -> list[Copy]:
    """Return the snapshots and backups of a share that schedules made, the oldest first.

    The share is one of the caller's project; for an administrator, of any. Copies that went to another project with the share
    belong to no schedule any more.
    """
    share = shares.get(conn, ctx, share_id, own=True)
    # Copies have no index by source: from those of the share to the record of each, and not the other way round.
    snapshots, backups = models.snapshots.c, models.share_backups.c
    there = sa.union_all(
        sa.select(snapshots.id).where(snapshots.share_id == share.id, ~snapshots.deletion_deferred),
        sa.select(backups.id).where(backups.share_id == share.id),
    ).subquery()
    query = (
        _select_copies()
        .join(there, there.c.id == _copies.c.resource_id)
        .join(_schedules, _schedules.c.id == _copies.c.schedule_id)
        .where(sa.or_(_schedules.c.all_projects, _of_project(share.project_id)))
    )
    return [Copy(*row) for row in conn.execute(query)]


def _select_copies() -> sa.Select[Any]:
    tables = list(COPIES.values())
    query = sa.select(
        _copies.c.resource_id,
        _copies.c.schedule_id,
        _copies.c.resource_type,
        _copies.c.source_id,
        _copies.c.run_at,
        _copies.c.was_good,
        sa.func.coalesce(*(table.c.status for table in tables)),
        sa.func.coalesce(*(table.c.project_id for table in tables)),
    )
    for table in tables:
        query = query.outerjoin(table, table.c.id == _copies.c.resource_id)
    return query.order_by(_copies.c.run_at, _copies.c.resource_id)


def is_held(conn: Connection, snapshot_id: str) -> bool:
    """Say whether its owner holds this snapshot: its property says neither no, false, off nor 0."""
    value = key_values.of(conn, models.snapshot_metadata, snapshot_id).get(HOLD)
    return value is not None and strutils.bool_from_string(value, default=True)


def forget_copies(conn: Connection, resource_ids: list[str]) -> None:
    """Delete the marks of these resources: no schedule deletes them any more."""
    conn.execute(_copies.delete().where(_copies.c.resource_id.in_(resource_ids)))


def mark_good(conn: Connection, resource_ids: list[str]) -> None:
    """Note that these resources are good."""
    conn.execute(_copies.update().where(_copies.c.resource_id.in_(resource_ids)).values(was_good=True))


# Failures -----------------------------------------------------------------------------------------


_OF_FAILURES = ('id', 'name', 'project_id', 'failing_since', 'last_good_at', 'problem')


def list_failing(conn: Connection) -> list[Row[Any]]:
    """Return schedules whose last run was not good, those that fail longest first."""
    return list(
        conn.execute(
            sa.select(*(_schedules.c[name] for name in _OF_FAILURES))
            .where(_schedules.c.failing_since.is_not(None), ~_schedules.c.paused)
            .order_by(_schedules.c.failing_since, _schedules.c.id)
        )
    )
