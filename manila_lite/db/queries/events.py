# SPDX-License-Identifier: Apache-2.0
"""Rows that changed, for those who listen to events. Nothing is written for them: each row has the time of its last change."""

import datetime
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from manila_lite.db import models
from manila_lite.db.core.prepared import Among, Query
from manila_lite.db.queries import operation_views

_instances = models.share_instances
_shares = models.shares
_networks = models.share_networks
_transfers = models.share_transfers
_usage = models.share_usage

OPERATION, SHARE, INSTANCE, USAGE = 'operation', 'share', 'share_instance', 'share_usage'

#: Tables whose changes are events, by the type of their rows.
_TABLES = {
    OPERATION: models.operations,
    SHARE: _shares,
    INSTANCE: _instances,
    'snapshot': models.snapshots,
    'share_network': _networks,
    'share_server': models.share_servers,
    'share_group': models.share_groups,
    'share_group_snapshot': models.share_group_snapshots,
    'share_backup': models.share_backups,
}
#: Tables that have the resource of an operation.
_OF_OPERATIONS = {
    **{name: table for name, table in _TABLES.items() if name not in (OPERATION, INSTANCE)},
    'share_replica': _instances,
}


class Change(NamedTuple):
    """A row that changed, or that is new, and when. The time is of the clock of the host that wrote it."""

    source: str
    row_id: str
    at: datetime.datetime


class Status(NamedTuple):
    """The status of a resource. ``gone``: its owner deleted it, and sees it no more."""

    resource_type: str
    resource_id: str
    project_id: str | None
    status: str
    gone: bool


def _changed() -> sa.CompoundSelect[Any]:
    since: Any = sa.bindparam('since', type_=models.operations.c.created_at.type)
    return sa.union_all(
        *(
            sa.select(
                sa.literal_column(f"'{name}'", sa.String).label('source'),
                table.c.id.label('row_id'),
                at.label('at'),
            ).where(*where)
            for name, table in _TABLES.items()
            for at, where in (
                (table.c.updated_at, (table.c.updated_at >= since,)),
                # A row that never changed has only this time; the index has both.
                (table.c.created_at, (table.c.updated_at.is_(None), table.c.created_at >= since)),
            )
        ),
        sa.select(sa.literal_column(f"'{USAGE}'", sa.String), _usage.c.share_id, _usage.c.told_at).where(
            _usage.c.told_at >= since
        ),
    )


_CHANGED = Query(_changed().limit(sa.bindparam('most', type_=sa.Integer)), named=False)


def list_changes(conn: Connection, since: datetime.datetime, most: int) -> list[Change]:
    """Return at most so many changes since a time, in no order. One statement, which reads nothing but indexes."""
    return [Change(*row) for row in _CHANGED.all(conn, {'since': since, 'most': most})]


def list_operations(conn: Connection, operation_ids: Sequence[str]) -> list[Row[Any]]:
    """Return operations of any project, with their data as ``text``."""
    return _OPERATIONS.all(conn, operation_ids) if operation_ids else []


_OPERATIONS = Among(operation_views.SELECT, models.operations.c.id, named=True)


def list_full_shares(conn: Connection, share_ids: Sequence[str]) -> list[Row[Any]]:
    """Return how full shares are whose owners were told, with the threshold."""
    return _FULL.all(conn, share_ids) if share_ids else []


_FULL = Among(
    sa.select(
        _usage.c.share_id,
        _shares.c.project_id,
        _usage.c.told_percent,
        _usage.c.told_at,
        _usage.c.percent_full,
        _usage.c.used_bytes,
        _usage.c.limit_bytes,
    )
    .join(_shares, _shares.c.id == _usage.c.share_id)
    .where(~_shares.c.deletion_deferred),
    _usage.c.share_id,
    named=True,
)


def list_statuses(conn: Connection, changed: Iterable[tuple[str, str]]) -> list[Status]:
    """Return the statuses of the resources of changed rows (source and id). Rows that are gone have none."""
    ids: dict[str, list[str]] = {}
    for source, row_id in changed:
        ids.setdefault(source, []).append(row_id)
    found: dict[Status, None] = {}
    for source, wanted in ids.items():
        for row in _STATUSES[source].all(conn, wanted) if source in _STATUSES else ():
            found.update(dict.fromkeys(_statuses(source, row)))
    return list(found)


def _statuses(source: str, row: Any) -> list[Status]:
    if source not in (SHARE, INSTANCE):
        return [Status(source, row.id, row.project_id, row.status, bool(row.gone))]
    gone = bool(row.gone)
    own = [] if row.is_secondary else [Status(SHARE, row.share_id, row.project_id, row.status, gone)]
    return own + (
        [Status('share_replica', row.id, row.project_id, row.status, gone)] if row.replica_state else []
    )


def _select_instances() -> sa.Select[Any]:
    return sa.select(
        _instances.c.id,
        _instances.c.share_id,
        _instances.c.is_secondary,
        _instances.c.replica_state,
        _instances.c.status,
        _shares.c.project_id,
        _shares.c.deletion_deferred.label('gone'),
    ).join(_shares, _shares.c.id == _instances.c.share_id)


def _select_statuses(table: sa.Table) -> sa.Select[Any]:
    gone = table.c.deletion_deferred if 'deletion_deferred' in table.c else sa.false()
    # Share servers are of no project: only administrators see them.
    project = (
        table.c.project_id
        if 'project_id' in table.c
        else sa.cast(sa.null(), models.operations.c.project_id.type)
    )
    return sa.select(table.c.id, project.label('project_id'), table.c.status, gone.label('gone'))


_STATUSES = {
    SHARE: Among(_select_instances(), _shares.c.id, named=True),
    INSTANCE: Among(_select_instances(), _instances.c.id, named=True),
    **{
        name: Among(_select_statuses(table), table.c.id, named=True)
        for name, table in _TABLES.items()
        if name not in (OPERATION, SHARE, INSTANCE)
    },
}


def list_existing(conn: Connection, resources: Collection[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return those of the resources (type and id) that have a row. Of types without a table of their own, return all."""
    ids: dict[str, list[str]] = {}
    for resource_type, resource_id in resources:
        ids.setdefault(resource_type, []).append(resource_id)
    return {
        (name, row_id)
        for name, wanted in ids.items()
        for row_id in ([row[0] for row in _EXISTING[name].all(conn, wanted)] if name in _EXISTING else wanted)
    }


_EXISTING = {name: Among(sa.select(table.c.id), table.c.id) for name, table in _OF_OPERATIONS.items()}

_CENSUS = Query(
    sa.union_all(
        sa.select(
            sa.literal_column("'share_network'", sa.String).label('source'),
            _networks.c.id.label('row_id'),
            _networks.c.project_id.label('project_id'),
        ),
        sa.select(
            sa.literal_column("'share_transfer'", sa.String), _transfers.c.share_id, _transfers.c.project_id
        ),
        sa.select(
            sa.literal_column("'pool'", sa.String), models.pools.c.host, sa.literal_column("''", sa.String)
        ),
        sa.select(
            sa.literal_column("'service'", sa.String),
            models.services.c.binary + sa.literal_column("' '", sa.String) + models.services.c.host,
            sa.literal_column("''", sa.String),
        ),
    ),
    named=False,
)


def take_census(conn: Connection) -> set[tuple[str, str, str]]:
    """Return all rows whose deletion leaves no trace: kind, name or id, and project ('' for none).

    They are few: share networks, offers of shares to other projects (by the share's id), pools, and services.
    """
    return {tuple(row) for row in _CENSUS.all(conn)}
