# SPDX-License-Identifier: Apache-2.0
"""How full shares are together: those of a project, and those of a pool, now and before."""

import datetime
from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa
from oslo_utils import timeutils
from sqlalchemy.engine import Connection, Row

from manila_lite import values
from manila_lite.db import models
from manila_lite.db.core import paging
from manila_lite.db.core.upserts import upsert
from manila_lite.db.queries import hosts

PROJECT, POOL = 'project', 'pool'
_usage = models.share_usage
_sums = models.share_usage_sums
_shares = models.shares
_instances = models.share_instances
_pools = models.pools

_MAIN = sa.and_(_instances.c.share_id == _usage.c.share_id, ~_instances.c.is_secondary)
_NAMES = ('shares', 'used_bytes', 'limit_bytes', 'snapshot_bytes')
_SUMS = (
    sa.func.count().label('shares'),
    *(
        # Servers sum up in decimal numbers, which are no JSON.
        sa.cast(sa.func.coalesce(sa.func.sum(_usage.c[name]), 0), sa.BigInteger).label(name)
        for name in _NAMES[1:]
    ),
)


def _by_project() -> sa.Select[Any]:
    return (
        sa.select(_shares.c.project_id, *_SUMS)
        .select_from(_usage)
        .join(_shares, _shares.c.id == _usage.c.share_id)
        .where(~_shares.c.deletion_deferred)
        .group_by(_shares.c.project_id)
    )


def _by_pool() -> sa.Select[Any]:
    """Return the sums of each pool, with its capacity in the last report of its backend, in GiB."""
    return (
        sa.select(
            _instances.c.host.label('host'),
            *_SUMS,
            *(sa.func.max(_pools.c[name]).label(name) for name in ('total_gb', 'free_gb')),
        )
        .select_from(_usage)
        .join(_instances, _MAIN)
        .outerjoin(_pools, _pools.c.host == _instances.c.host)
        .group_by(_instances.c.host)
    )


def list_projects(conn: Connection, page: paging.Page, *, project_id: str | None = None) -> list[Row[Any]]:
    """Return the sums of a project's measured shares (None: of each project), the project that uses most first."""
    query = _by_project().order_by(sa.func.sum(_usage.c.used_bytes).desc(), _shares.c.project_id)
    if project_id is not None:
        query = query.where(_shares.c.project_id == project_id)
    return list(conn.execute(query.limit(page.limit).offset(page.offset)))


def list_pools(conn: Connection, page: paging.Page) -> list[Row[Any]]:
    """Return the sums of the measured shares of each pool, by pool."""
    query = _by_pool().order_by(_instances.c.host)
    return list(conn.execute(query.limit(page.limit).offset(page.offset)))


def get_pool(conn: Connection, host: str) -> Row[Any] | None:
    """Return the sums of the measured shares of a pool; None if it has none."""
    return conn.execute(_by_pool().where(_instances.c.host == host)).first()


# History --------------------------------------------------------------------------------------


def store(conn: Connection, host: str, now: datetime.datetime, series: Iterable[values.Series]) -> None:
    """Store a point of each pool of a backend, and of each project with shares on it, in each of these series.

    The sums of a project are of all backends: each of them writes the same point, whose slot is that of the moment.
    """
    on_it = hosts.below(_instances.c.host, host)
    projects = sa.select(_shares.c.project_id).join(_instances, _instances.c.share_id == _shares.c.id)
    rows = [
        {'kind': kind, 'owner': row[0], 'measured_at': now, **{name: getattr(row, name) for name in _NAMES}}
        for kind, query in (
            (POOL, _by_pool().where(on_it)),
            (PROJECT, _by_project().where(_shares.c.project_id.in_(projects.where(on_it)))),
        )
        for row in sorted(conn.execute(query), key=lambda row: str(row[0]))
        if row[0] is not None
    ]
    for one in series:
        at = {'resolution': one.seconds, 'slot': one.slot(now)}
        upsert(conn, _sums, [row | at for row in rows])


def delete_old(conn: Connection, now: datetime.datetime) -> None:
    """Delete the points that nothing took the slot of, and that are not shown any more: their owners have no shares left."""
    for one in values.SERIES:
        conn.execute(
            _sums.delete().where(_sums.c.resolution == one.seconds, _sums.c.measured_at < one.begin(now))
        )


def points(conn: Connection, kind: str, owner: str, series: values.Series) -> list[Row[Any]]:
    """Return the points of a series of a project or a pool, the oldest first."""
    return list(
        conn.execute(
            sa.select(_sums.c.measured_at, *(_sums.c[name] for name in _NAMES))
            .where(
                _sums.c.kind == kind,
                _sums.c.owner == owner,
                _sums.c.resolution == series.seconds,
                _sums.c.measured_at >= series.begin(timeutils.utcnow()),
            )
            .order_by(_sums.c.measured_at)
        )
    )
