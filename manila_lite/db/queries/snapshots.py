# SPDX-License-Identifier: Apache-2.0
"""Snapshots of shares."""

import functools
from collections.abc import Iterable
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from manila_lite import context, errors
from manila_lite.db import models
from manila_lite.db.core import key_values, paging, row_locks
from manila_lite.db.core.prepared import Query
from manila_lite.db.core.rows import found, updater
from manila_lite.db.queries import shares

_snapshots = models.snapshots
_shares = models.shares
_instances = models.share_instances

#: All columns that a list may be sorted by.
SORTABLE = {
    **{column.name: column for column in _snapshots.c},
    'display_name': _snapshots.c.name,
    'display_description': _snapshots.c.description,
}


@functools.cache
def _one(*, everybody: bool) -> Query:
    mine = (
        []
        if everybody
        else [_snapshots.c.project_id == sa.bindparam('project'), ~_snapshots.c.deletion_deferred]
    )
    return Query(sa.select(_snapshots).where(_snapshots.c.id == sa.bindparam('snapshot_id'), *mine))


def get(conn: Connection, ctx: context.RequestContext, snapshot_id: str) -> Row[Any]:
    """Return a snapshot of the caller's project.

    :raises errors.NotFound: there is none.
    """
    row = _one(everybody=bool(ctx.is_admin)).first(
        conn, {'snapshot_id': snapshot_id, 'project': ctx.project_id}
    )
    return found(row, 'snapshot', snapshot_id)


def count_of(conn: Connection, share_id: str, *, seen: bool = False) -> int:
    """Return how many snapshots a share has; with ``seen``, without those whose deletion is deferred."""
    which = [~_snapshots.c.deletion_deferred] if seen else []
    return conn.execute(
        sa.select(sa.func.count()).where(_snapshots.c.share_id == share_id, *which)
    ).scalar_one()


def list_shares_with_any(conn: Connection, share_ids: Iterable[str]) -> set[str]:
    """Return those of the shares that have snapshots."""
    return set(
        conn.execute(
            sa.select(_snapshots.c.share_id).distinct().where(_snapshots.c.share_id.in_(tuple(share_ids)))
        ).scalars()
    )


def sizes_of(conn: Connection, share_id: str) -> tuple[int, int]:
    """Return number and total GiB of a share's snapshots, without those whose deletion is deferred."""
    row = conn.execute(
        sa.select(sa.func.count(), sa.func.coalesce(sa.func.sum(_snapshots.c.size), 0)).where(
            _snapshots.c.share_id == share_id, ~_snapshots.c.deletion_deferred
        )
    ).one()
    return row[0], int(row[1])


class Unavailable(NamedTuple):
    """A snapshot that is not available."""

    id: str
    status: str


def list_unavailable(conn: Connection, share_id: str) -> list[Unavailable]:
    """Return the share's snapshots that are not available."""
    query = sa.select(_snapshots.c.id, _snapshots.c.status).where(
        _snapshots.c.share_id == share_id, _snapshots.c.status != 'available'
    )
    return [Unavailable(*row) for row in conn.execute(query.order_by(_snapshots.c.id))]


def ids_of(conn: Connection, share_id: str) -> list[str]:
    """Return the ids of a share's snapshots."""
    return list(conn.execute(sa.select(_snapshots.c.id).where(_snapshots.c.share_id == share_id)).scalars())


def latest_of(conn: Connection, share_id: str) -> str | None:
    """Return the id of a share's latest snapshot that was not a failure."""
    return conn.execute(
        sa.select(_snapshots.c.id)
        .where(
            _snapshots.c.share_id == share_id,
            _snapshots.c.status.not_in(('error', 'manage_error')),
            ~_snapshots.c.deletion_deferred,
        )
        .order_by(_snapshots.c.created_at.desc(), _snapshots.c.id.desc())
        .limit(1)
    ).scalar()


_EQUAL = ('name', 'description', 'status', 'share_id', 'size', 'user_id')


def _listed(filters: dict[str, Any], project_id: Any) -> sa.Select[Any]:
    query = sa.select(_snapshots).where(
        *paging.conditions(filters, _snapshots.c, _EQUAL, ('name', 'description'), project_id)
    )
    if not filters.get('deferred'):
        query = query.where(~_snapshots.c.deletion_deferred)
    used = sa.exists().where(_shares.c.snapshot_id == _snapshots.c.id)
    if filters.get('usage') in ('used', 'unused'):
        query = query.where(used if filters['usage'] == 'used' else ~used)
    return query.where(
        *key_values.matching(models.snapshot_metadata, _snapshots.c.id, filters.get('metadata') or {})
    )


def list_snapshots(
    conn: Connection, filters: dict[str, Any], page: paging.Page, *, project_id: str | None
) -> list[Row[Any]]:
    """Return snapshots of a project (None: of all). Those whose deletion is deferred need the filter ``deferred``."""
    return list(conn.execute(page.apply(_listed(filters, project_id), SORTABLE, tie=_snapshots.c.id)).all())


def count(conn: Connection, filters: dict[str, Any], *, project_id: str | None) -> int:
    """Return how many snapshots ``list_snapshots`` would find without a page."""
    return conn.execute(
        sa.select(sa.func.count()).select_from(_listed(filters, project_id).subquery())
    ).scalar_one()


#: Set these values of the snapshot. Never a status.
update = updater(_snapshots)


def lock_share(conn: Connection, instance_id: str, statuses: Iterable[str]) -> bool:
    """Lock the share's status until the transaction ends. Say whether it is one of these."""
    return row_locks.lock(
        conn, _instances, _instances.c.id == instance_id, _instances.c.status.in_(tuple(statuses))
    )


def lock(conn: Connection, snapshot_id: str, statuses: Iterable[str]) -> bool:
    """Lock the snapshot's status until the transaction ends. Say whether it is one of these."""
    return row_locks.lock(
        conn, _snapshots, _snapshots.c.id == snapshot_id, _snapshots.c.status.in_(tuple(statuses))
    )


def find_share_being_created(conn: Connection, snapshot_id: str) -> str | None:
    """Return the id of a share that is being created from the snapshot at this moment, or None."""
    return conn.execute(
        sa.select(_shares.c.id)
        .join(_instances, _instances.c.share_id == _shares.c.id)
        .where(
            _shares.c.snapshot_id == snapshot_id,
            _instances.c.status.in_(('creating', 'creating_from_snapshot')),
        )
        .limit(1)
    ).scalar()


def share_of(conn: Connection, snapshot_id: str) -> Row[Any]:
    """Return the row of the snapshot's share, of any project.

    :raises errors.NotFound: the snapshot is gone, perhaps deleted just now.
    """
    pair = with_share(conn, snapshot_id)
    if pair is None:
        raise errors.NotFound.of('snapshot', snapshot_id)
    return pair[1]


def with_share(conn: Connection, snapshot_id: str) -> tuple[Row[Any], Row[Any]] | None:
    """Return a snapshot and its share's row, of any project, or None."""
    snapshot = conn.execute(sa.select(_snapshots).where(_snapshots.c.id == snapshot_id)).first()
    if snapshot is None:
        return None
    share = conn.execute(shares.select().where(_shares.c.id == snapshot.share_id)).first()
    return None if share is None else (snapshot, share)


def with_shares(conn: Connection, snapshot_ids: Iterable[str]) -> dict[str, tuple[Row[Any], Row[Any]]]:
    """Return snapshots by id, each with its share's row as ``shares.list_by_ids`` reads it, in two statements."""
    rows = conn.execute(sa.select(_snapshots).where(_snapshots.c.id.in_(tuple(snapshot_ids)))).all()
    known = shares.list_by_ids(conn, {row.share_id for row in rows}) if rows else {}
    return {row.id: (row, known[row.share_id]) for row in rows if row.share_id in known}
