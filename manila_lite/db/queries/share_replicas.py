# SPDX-License-Identifier: Apache-2.0
"""Replicas: instances of one share at several backends. The active replica is the share's main instance. The others are
set aside, like the second instance of a migration, but have a replica state.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import sqlalchemy as sa
from oslo_utils import uuidutils
from sqlalchemy.engine import Connection, Row

from manila_lite import context
from manila_lite.db import models
from manila_lite.db.core import host_time, key_values, paging
from manila_lite.db.core.rows import get_row
from manila_lite.db.queries import ensure, shares
from manila_lite.operation_data.ensure import EnsureShares

_shares = models.shares
_instances = models.share_instances
_zones = models.availability_zones
_held = models.replica_snapshots
_snapshots = models.snapshots
_operations = models.operations

#: Kinds of operations on one replica.
CREATE, DELETE, UPDATE, PROMOTE, ACCESS = (
    f'replica.{verb}' for verb in ('create', 'delete', 'update', 'promote', 'access')
)

#: All columns that a list may be sorted by.
SORTABLE = {**{column.name: column for column in _instances.c}, 'availability_zone': _zones.c.name}

_EQUAL = {name: _instances.c[name] for name in ('share_id', 'status', 'replica_state', 'share_network_id')}
_IS_OTHER = sa.and_(_instances.c.is_secondary, _instances.c.replica_state.is_not(None))


def _select() -> sa.Select[Any]:
    return (
        sa.select(
            *_instances.c,
            _zones.c.name.label('availability_zone'),
            _shares.c.project_id,
            _shares.c.user_id,
            _shares.c.size,
            _shares.c.replication_type,
        )
        .join(_shares, _shares.c.id == _instances.c.share_id)
        .outerjoin(_zones, _zones.c.id == _instances.c.availability_zone_id)
        .where(_instances.c.replica_state.is_not(None))
    )


def get(conn: Connection, ctx: context.RequestContext, replica_id: str) -> Row[Any]:
    """Return a replica of a share of the caller's project (of any, for an administrator).

    :raises errors.NotFound: there is none.
    """
    query = _select().where(_instances.c.id == replica_id)
    if not ctx.is_admin:
        query = query.where(_shares.c.project_id == ctx.project_id, ~_shares.c.deletion_deferred)
    return get_row(conn, query, 'share replica', replica_id)


def list_replicas(
    conn: Connection, filters: dict[str, Any], page: paging.Page, *, project_id: str | None
) -> list[Row[Any]]:
    """Return replicas of shares of a project (None: of all), including active ones."""
    query = _select().where(
        ~_shares.c.deletion_deferred,
        *paging.conditions(filters, _EQUAL | {'project_id': _shares.c.project_id}, _EQUAL, (), project_id),
        *key_values.matching(models.share_instance_metadata, _instances.c.id, filters.get('metadata') or {}),
    )
    return list(conn.execute(page.apply(query, SORTABLE, tie=_instances.c.id)).all())


def of_share(conn: Connection, share_id: str) -> list[Row[Any]]:
    """Return all replicas of a share, oldest first."""
    return list(
        conn.execute(
            _select()
            .where(_instances.c.share_id == share_id)
            .order_by(_instances.c.created_at, _instances.c.id)
        )
    )


def list_non_active(conn: Connection, share_id: str) -> list[Row[Any]]:
    """Return the replicas of a share that are not the active one."""
    return [row for row in of_share(conn, share_id) if row.is_secondary]


def count_of(conn: Connection, share_id: str) -> int:
    """Return how many replicas a share has beside the active one."""
    return conn.execute(
        sa.select(sa.func.count()).where(_instances.c.share_id == share_id, _IS_OTHER)
    ).scalar_one()


def filter_replicated(conn: Connection, share_ids: Iterable[str]) -> set[str]:
    """Return those of these shares that have a replica beside the active one."""
    return set(
        conn.execute(
            sa.select(_instances.c.share_id)
            .distinct()
            .where(_instances.c.share_id.in_(tuple(share_ids)), _IS_OTHER)
        ).scalars()
    )


def list_of_server(conn: Connection, server_id: str) -> list[Row[Any]]:
    """Return the replicas that are not active, on any backend, of shares with a replica on the share server; by their ids."""
    there = _instances.alias()
    return list(
        conn.execute(
            sa.select(_instances)
            .where(
                _IS_OTHER,
                sa.exists().where(
                    there.c.share_id == _instances.c.share_id,
                    there.c.share_server_id == server_id,
                    there.c.replica_state.is_not(None),
                ),
            )
            .order_by(_instances.c.id)
        )
    )


def as_share(conn: Connection, replica_id: str) -> Row[Any] | None:
    """Return the share's row with the replica, which is not the active one, as its instance; or None."""
    return conn.execute(shares.select(replicas=True).where(_instances.c.id == replica_id)).first()


def list_non_active_at(conn: Connection, host: str, statuses: Iterable[str]) -> list[Row[Any]]:
    """Return the replicas at a backend, without active ones, that are in one of these statuses."""
    return list(
        conn.execute(
            _select()
            .where(
                _IS_OTHER,
                _instances.c.host.startswith(f'{host}#', autoescape=True),
                _instances.c.status.in_(tuple(statuses)),
            )
            .order_by(_instances.c.id)
        )
    )


def list_claimed_operations(conn: Connection, unique_keys: Iterable[str]) -> dict[str, str]:
    """Return the claimed operations with these keys, by id, each with a value that changes when the operation goes on
    to its next call of the backend.
    """
    query = sa.select(
        _operations.c.id, _operations.c.kind, _operations.c.next_run_at, _operations.c.data
    ).where(
        _operations.c.unique_key.in_(tuple(unique_keys)), _operations.c.lease_expires_at > host_time.now(conn)
    )
    return {
        row.id: f'{row.next_run_at} {EnsureShares.from_json(row.data).after if row.kind == ensure.KIND else None}'
        for row in conn.execute(query)
    }


# Snapshots ----------------------------------------------------------------------------------------


def set_snapshots(conn: Connection, replica_id: str, wanted: Mapping[str, str | None]) -> None:
    """Set the snapshots (ids) that the replica holds, with their locations. Snapshots that it held keep their row."""
    old = dict(
        conn.execute(
            sa.select(_held.c.snapshot_id, _held.c.id).where(_held.c.share_instance_id == replica_id)
        ).all()
    )
    gone = [old[snapshot] for snapshot in old if snapshot not in wanted]
    if gone:
        conn.execute(_held.delete().where(_held.c.id.in_(gone)))
    there = set(conn.execute(sa.select(_snapshots.c.id).where(_snapshots.c.id.in_(tuple(wanted)))).scalars())
    fresh = [
        {
            'id': uuidutils.generate_uuid(),
            'snapshot_id': snapshot,
            'share_instance_id': replica_id,
            'provider_location': place,
        }
        for snapshot, place in wanted.items()
        if snapshot not in old and snapshot in there
    ]
    if fresh:
        conn.execute(_held.insert(), fresh)
