# SPDX-License-Identifier: Apache-2.0
"""Share groups and their shares."""

from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from manila_lite import context
from manila_lite.db import models
from manila_lite.db.core import paging, row_locks
from manila_lite.db.core.rows import get_row, updater
from manila_lite.db.queries import hosts, share_group_types

_groups = models.share_groups
_shares = models.shares
_instances = models.share_instances
_zones = models.availability_zones
_snapshots = models.share_group_snapshots
_share_types = models.share_group_share_types

_ZONE = _zones.c.name.label('availability_zone')

#: All columns that a list may be sorted by.
SORTABLE = {**{column.name: column for column in _groups.c}, 'availability_zone': _zones.c.name}


def select() -> sa.Select[Any]:
    """Return the SELECT of groups, each with the name of its zone."""
    return sa.select(*_groups.c, _ZONE).outerjoin(_zones, _zones.c.id == _groups.c.availability_zone_id)


def get(conn: Connection, ctx: context.RequestContext, group_id: str) -> Row[Any]:
    """Return a group of the caller's project.

    :raises errors.NotFound: there is none.
    """
    mine = [] if ctx.is_admin else [_groups.c.project_id == ctx.project_id]
    return get_row(conn, select().where(_groups.c.id == group_id, *mine), 'share group', group_id)


def find(conn: Connection, group_id: str) -> Row[Any] | None:
    """Return a group of any project, or None."""
    return conn.execute(select().where(_groups.c.id == group_id)).first()


_EQUAL = (
    'name',
    'description',
    'status',
    'share_group_type_id',
    'share_network_id',
    'share_server_id',
    'source_share_group_snapshot_id',
)


def list_groups(
    conn: Connection, filters: dict[str, Any], page: paging.Page, *, project_id: str | None
) -> list[Row[Any]]:
    """Return groups of a project (None: of all)."""
    where = paging.conditions(filters, _groups.c, _EQUAL, ('name', 'description'), project_id)
    if filters.get('host') is not None:
        where.append(hosts.below(_groups.c.host, filters['host']))
    return list(conn.execute(page.apply(select().where(*where), SORTABLE, tie=_groups.c.id)).all())


def share_types_of(conn: Connection, group_ids: Iterable[str]) -> dict[str, list[str]]:
    """Return the ids of the share types that shares of groups may have, by group id."""
    return share_group_types.share_types_of(conn, _share_types, group_ids)


def set_share_types(conn: Connection, group_id: str, share_type_ids: Iterable[str]) -> None:
    """Set the types that shares of a new group may have."""
    share_group_types.set_share_types(conn, _share_types, group_id, share_type_ids)


#: Set these values of the group. Never a status.
update = updater(_groups)


def lock(conn: Connection, group_id: str, statuses: Iterable[str]) -> bool:
    """Lock the group's status until the transaction ends. Say whether it is one of these."""
    return row_locks.lock(conn, _groups, _groups.c.id == group_id, _groups.c.status.in_(tuple(statuses)))


def shares_of(conn: Connection, group_id: str) -> list[Row[Any]]:
    """Return the shares of a group, oldest first, without those whose deletion is deferred."""
    return list(
        conn.execute(
            sa.select(
                _shares.c.id,
                _shares.c.project_id,
                _shares.c.size,
                _shares.c.share_proto,
                _instances.c.share_type_id,
                _instances.c.status,
                _instances.c.host,
                _instances.c.id.label('instance_id'),
                _shares.c.snapshot_support,
            )
            .join(_instances, sa.and_(_instances.c.share_id == _shares.c.id, ~_instances.c.is_secondary))
            .where(_shares.c.share_group_id == group_id, ~_shares.c.deletion_deferred)
            .order_by(_shares.c.created_at, _shares.c.id)
        )
    )


def count_snapshots(conn: Connection, group_id: str) -> int:
    """Return how many snapshots a group has."""
    return conn.execute(
        sa.select(sa.func.count()).where(_snapshots.c.share_group_id == group_id)
    ).scalar_one()


def find_snapshot_in_transition(conn: Connection, group_id: str | None) -> str | None:
    """Return the id of a snapshot of the group that is being created or deleted at this moment, or None."""
    return conn.execute(
        sa.select(_snapshots.c.id)
        .where(_snapshots.c.share_group_id == group_id, _snapshots.c.status.in_(('creating', 'deleting')))
        .limit(1)
    ).scalar()


def count_in_network(conn: Connection, network_id: str) -> int:
    """Return how many groups are in a share network."""
    return conn.execute(
        sa.select(sa.func.count()).where(_groups.c.share_network_id == network_id)
    ).scalar_one()


def find_on_server(conn: Connection, server_id: str) -> str | None:
    """Return the id of a group that has this share server for its shares, or None."""
    return conn.execute(
        sa.select(_groups.c.id).where(_groups.c.share_server_id == server_id).limit(1)
    ).scalar()
