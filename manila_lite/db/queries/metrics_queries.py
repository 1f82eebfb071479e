# SPDX-License-Identifier: Apache-2.0
"""Figures for operators, one statement each: open operations, pools, services, usage."""

import datetime
from collections.abc import Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa
from oslo_utils import timeutils
from sqlalchemy.engine import Connection, Row

from manila_lite.db import models
from manila_lite.db.core.database_clock import AS_OF

_instances = models.share_instances
_operations = models.operations
_pools = models.pools
_schedules = models.schedules
_services = models.services
_shares = models.shares
_snapshots = models.snapshots
_usage = models.share_usage

#: Percent from which on a share counts as nearly full.
_NEARLY_FULL = 95


def open_operations(conn: Connection, bounds: Sequence[float]) -> dict[str, list[int]]:
    """Return the age distribution of open operations, by kind: how many are younger than the first of ``bounds``
    (seconds, ascending), between each two bounds, and older than the last.
    """
    now = timeutils.utcnow()
    at_least = [
        sa.func.sum(
            sa.case((_operations.c.created_at <= now - datetime.timedelta(seconds=bound), 1), else_=0)
        )
        for bound in bounds
    ]
    # By the missing end: there is an index on it, and finished operations may be many.
    query = (
        sa.select(_operations.c.kind, sa.func.count(), *at_least)
        .where(_operations.c.finished_at.is_(None))
        .group_by(_operations.c.kind)
    )
    return {
        kind: [int(older - oldest) for older, oldest in zip(counts, (*counts[1:], 0), strict=True)]
        for kind, *counts in conn.execute(query)
    }


class Pool(NamedTuple):
    """A pool, with its capacities in GiB."""

    host: str
    total_gb: float
    free_gb: float
    allocated_gb: float
    capabilities: dict[str, Any]


class OldestReplica(NamedTuple):
    """When the oldest replica of a pool was last in sync."""

    host: str
    synced_at: datetime.datetime


def pools(conn: Connection, most: int) -> list[Pool]:
    """Return the first ``most`` pools."""
    return [
        Pool(*row)
        for row in conn.execute(
            sa.select(
                _pools.c.host,
                _pools.c.total_gb,
                _pools.c.free_gb,
                _pools.c.allocated_gb,
                _pools.c.capabilities,
            )
            .order_by(_pools.c.host)
            .limit(most)
        )
    ]


def oldest_replicas(conn: Connection, most: int) -> list[OldestReplica]:
    """Return the oldest replica on each of the first ``most`` pools; active ones do not count. One
    that was never in sync counts from its creation.
    """
    since = sa.func.min(sa.func.coalesce(_instances.c.synced_at, _instances.c.created_at)).label('synced_at')
    return [
        OldestReplica(*row)
        for row in conn.execute(
            sa.select(_instances.c.host, since)
            .where(
                _instances.c.is_secondary,
                _instances.c.replica_state.is_not(None),
                _instances.c.host.is_not(None),
            )
            .group_by(_instances.c.host)
            .order_by(_instances.c.host)
            .limit(most)
        )
    ]


class ScheduleTimes(NamedTuple):
    """When a schedule was last good (or made, if it never was), and the times of its last run and of its next one."""

    id: str
    good_at: datetime.datetime
    last_run_at: datetime.datetime
    next_run_at: datetime.datetime


def schedule_times(conn: Connection, most: int) -> list[ScheduleTimes]:
    """Return the times of the ``most`` schedules that were good least recently, without those that are paused."""
    made = _schedules.c.created_at
    good_at = sa.func.coalesce(_schedules.c.last_good_at, made)
    return [
        ScheduleTimes(*row)
        for row in conn.execute(
            sa.select(
                _schedules.c.id,
                good_at,
                sa.func.coalesce(_schedules.c.last_run_at, made),
                _schedules.c.next_run_at,
            )
            .where(_schedules.c.next_run_at.is_not(None))
            .order_by(good_at, _schedules.c.id)
            .limit(most)
        )
    ]


def heartbeats(conn: Connection, most: int) -> list[Row[Any]]:
    """Return binary, host, heartbeat and clock of the first ``most`` services."""
    return list(
        conn.execute(
            sa.select(
                _services.c.binary,
                _services.c.host,
                _services.c.heartbeat_at,
                _services.c.stopped,
                _services.c.release,
                _services.c.release_at,
                _services.c.clock_ahead,
                AS_OF,
            )
            .order_by(_services.c.id)
            .limit(most)
        )
    )


def usage(conn: Connection) -> dict[str, int]:
    """Return the usage of all projects together, by quota resource."""
    columns: list[Any] = []
    for name, gigabytes, table in (
        ('shares', 'gigabytes', _shares),
        ('snapshots', 'snapshot_gigabytes', _snapshots),
    ):
        columns += [
            sa.select(sa.func.count()).select_from(table).scalar_subquery().label(name),
            sa.select(sa.func.coalesce(sa.func.sum(table.c.size), 0)).scalar_subquery().label(gigabytes),
        ]
    return {name: int(value) for name, value in conn.execute(sa.select(*columns)).one()._mapping.items()}


def usage_by_project(conn: Connection, most: int) -> dict[str, dict[str, int]]:
    """Return shares and gigabytes of the ``most`` projects with the most gigabytes."""
    used = sa.func.sum(_shares.c.size)
    query = (
        sa.select(_shares.c.project_id, sa.func.count(), used)
        .group_by(_shares.c.project_id)
        .order_by(used.desc(), _shares.c.project_id)
        .limit(most)
    )
    return {
        project: {'shares': int(count), 'gigabytes': int(size)}
        for project, count, size in conn.execute(query)
    }


class PoolUsage(NamedTuple):
    """The bytes in the measured shares of a pool, and the number of shares that are nearly full."""

    host: str
    used_bytes: int
    nearly_full: int


class FullShare(NamedTuple):
    """One of the fullest shares of a pool."""

    host: str
    share_id: str
    percent_full: float


_OF_SHARE = sa.and_(_instances.c.share_id == _usage.c.share_id, ~_instances.c.is_secondary)


def usage_by_pool(conn: Connection, most: int) -> list[PoolUsage]:
    """Return the use of the first ``most`` pools, by their shares."""
    nearly_full = sa.func.sum(sa.case((_usage.c.percent_full >= _NEARLY_FULL, 1), else_=0))
    query = (
        sa.select(_instances.c.host, sa.func.sum(_usage.c.used_bytes), nearly_full)
        .join(_usage, _OF_SHARE)
        .group_by(_instances.c.host)
        .order_by(_instances.c.host)
        .limit(most)
    )
    return [PoolUsage(host, int(used), int(full)) for host, used, full in conn.execute(query)]


def fullest_shares(conn: Connection, of_each: int, most: int) -> list[FullShare]:
    """Return the fullest shares of each of the first ``most`` pools."""
    place = sa.func.row_number().over(
        partition_by=_instances.c.host, order_by=(_usage.c.percent_full.desc(), _usage.c.share_id)
    )
    ranked = (
        sa.select(_instances.c.host, _usage.c.share_id, _usage.c.percent_full, place.label('place'))
        .join(_usage, _OF_SHARE)
        .subquery()
    )
    query = (
        sa.select(ranked.c.host, ranked.c.share_id, ranked.c.percent_full)
        .where(ranked.c.place <= of_each)
        .order_by(ranked.c.host, ranked.c.place)
        .limit(of_each * most)
    )
    return [FullShare(*row) for row in conn.execute(query)]


def used_bytes_by_project(conn: Connection, most: int) -> dict[str, int]:
    """Return the bytes in the shares of the ``most`` projects that hold most."""
    used = sa.func.sum(_usage.c.used_bytes)
    query = (
        sa.select(_shares.c.project_id, used)
        .join(_usage, _usage.c.share_id == _shares.c.id)
        .group_by(_shares.c.project_id)
        .order_by(used.desc(), _shares.c.project_id)
        .limit(most)
    )
    return {project: int(size) for project, size in conn.execute(query)}
