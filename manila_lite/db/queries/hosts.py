# SPDX-License-Identifier: Apache-2.0
"""Operators' work on hosts and their services: delete dead ones, and give their shares to other hosts."""

import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from manila_lite.db import models
from manila_lite.db.core import host_time
from manila_lite.db.core.database_clock import AS_OF

_services = models.services
_pools = models.pools
_machines = models.backend_machines
_instances = models.share_instances
_operations = models.operations
_snapshots = models.snapshots
_groups = models.share_groups
_group_snapshots = models.share_group_snapshots
_zones = models.availability_zones

_SHARE = 'manila-share'
#: Tables of resources on a backend: all tables with a host, except for services, pools and operations.
_RESIDENTS = [
    table
    for table in models.metadata.sorted_tables
    if 'host' in table.c and table not in (_services, _pools, _operations)
]


def list_backends(conn: Connection, zone: str | None = None) -> list[Row[Any]]:
    """Return backends with zone, heartbeat, and the number of their pools and share instances."""
    count = sa.func.count().label
    pools = sa.select(count('n')).where(_pools.c.backend_host == _services.c.host).scalar_subquery()
    shares = (
        sa.select(count('n'))
        .select_from(_instances)
        .where(_on(_instances, _services.c.host))
        .scalar_subquery()
    )
    query = (
        sa.select(
            _services.c.host,
            _zones.c.name.label('zone'),
            _services.c.heartbeat_at,
            _services.c.stopped,
            _services.c.disabled,
            AS_OF,
            pools.label('pools'),
            shares.label('shares'),
        )
        .outerjoin(_zones, _zones.c.id == _services.c.availability_zone_id)
        .where(_services.c.binary == _SHARE)
        .order_by(_services.c.host)
    )
    return list(conn.execute(query.where(_zones.c.name == zone) if zone else query))


def _on(table: sa.Table, host: sa.ColumnElement[str]) -> sa.ColumnElement[bool]:
    # Not by LIKE: a host name may contain its wildcards.
    return sa.or_(
        table.c.host == host, sa.func.substr(table.c.host, 1, sa.func.length(host) + 1) == host + '#'
    )


def _waits() -> sa.ColumnElement[bool]:
    return sa.exists().where(
        _operations.c.topic == 'share',
        _operations.c.host == _services.c.host,
        _operations.c.state.in_(('open', 'parked')),
    )


def _used() -> sa.ColumnElement[bool]:
    return sa.and_(
        _services.c.binary == _SHARE,
        sa.or_(*(sa.exists().where(_on(table, _services.c.host)) for table in _RESIDENTS), _waits()),
    )


def list_silent_services(conn: Connection, before: datetime.datetime) -> list[Row[Any]]:
    """Return services whose last heartbeat is older, with ``used``: they have resources, or operations wait for them."""
    return list(
        conn.execute(
            sa.select(
                _services.c.id,
                _services.c.host,
                _services.c.binary,
                _services.c.heartbeat_at,
                _used().label('used'),
            )
            .where(_silent(before))
            .order_by(_services.c.host, _services.c.binary)
        )
    )


def _silent(before: datetime.datetime) -> sa.ColumnElement[bool]:
    return sa.func.coalesce(_services.c.heartbeat_at, _services.c.created_at) < before


def delete_silent_service(conn: Connection, service_id: int, before: datetime.datetime) -> bool:
    """Delete the service and its pools if it is silent since ``before`` and unused. Say whether it was."""
    service = conn.execute(
        sa.select(_services.c.host, _services.c.binary).where(_services.c.id == service_id)
    ).first()
    gone = conn.execute(
        _services.delete().where(_services.c.id == service_id, _silent(before), ~_used())
    ).rowcount
    if service is not None and gone and service.binary == _SHARE:
        for table in (_pools, _machines):
            conn.execute(table.delete().where(table.c.backend_host == service.host))
    return bool(gone)


def exists(conn: Connection, host: str) -> bool:
    """Say whether there is such a pool, such a backend, or a backend on such a host."""
    if '#' in host:
        query = sa.select(_pools.c.host).where(_pools.c.host == host)
    else:
        query = sa.select(_services.c.host).where(_services.c.binary == _SHARE, below(_services.c.host, host))
    return conn.execute(query.limit(1)).first() is not None


def count_claimed_operations(conn: Connection, old: str) -> int:
    """Return how many operations of host or backend ``old`` are claimed at this moment."""
    return conn.execute(
        sa.select(sa.func.count()).where(
            _operations.c.topic == 'share',
            below(_operations.c.host, _backend(old)),
            _operations.c.state == 'open',
            _operations.c.lease_expires_at >= host_time.now(conn),
        )
    ).scalar_one()


def is_below(host: str, above: str) -> bool:
    """Say whether ``host`` is ``above``, or a backend or pool of it."""
    return host == above or any(host.startswith(above + separator) for separator in _separators(above))


def _separators(host: str) -> str:
    return '' if '#' in host else '#' if '@' in host else '@'


def below(column: sa.ColumnElement[str], host: str) -> sa.ColumnElement[bool]:
    """Return the condition that ``is_below`` is true for a column."""
    return sa.or_(
        column == host,
        *(column.startswith(host + separator, autoescape=True) for separator in _separators(host)),
    )


def _backend(host: str) -> str:
    return host.partition('#')[0]


def move_resources(conn: Connection, old: str, new: str) -> dict[str, int]:
    """Move everything from host, backend or pool ``old`` to ``new``, of the same kind. Return how many rows, by table.

    If both have a pool of the same name, the one of ``new`` is kept.
    """
    moved = conn.execute(
        _operations.update()
        .where(_operations.c.topic == 'share', _operations.c.state.in_(('open', 'parked')), _of_moving(old))
        .values(
            host=_renamed(_operations.c.host, _backend(old), _backend(new)),
            owner=None,
            lease_expires_at=None,
            next_run_at=host_time.now(conn),
        )
    ).rowcount
    residents = {
        table.name.replace('_', ' '): conn.execute(
            table.update().where(below(table.c.host, old)).values(host=_renamed(table.c.host, old, new))
        ).rowcount
        for table in _RESIDENTS
    }
    return {**residents, 'operations': moved, 'pools': _rename_pools(conn, old, new)}


def _renamed(column: sa.ColumnElement[str], old: str, new: str) -> sa.ColumnElement[str]:
    return sa.literal(new) + sa.func.substr(column, len(old) + 1)


def _of_moving(old: str) -> sa.ColumnElement[bool]:
    """Return the condition for operations that move. They name a backend; a pool's are found by its resources."""
    here = below(_operations.c.host, _backend(old))
    if '#' not in old:
        return here
    residents = [sa.select(table.c.id).where(table.c.host == old) for table in _RESIDENTS]
    shares = sa.select(_instances.c.share_id).where(_instances.c.host == old)
    groups = sa.select(_groups.c.id).where(_groups.c.host == old)
    snapshots = sa.select(_snapshots.c.id).where(_snapshots.c.share_id.in_(shares))
    group_snapshots = sa.select(_group_snapshots.c.id).where(_group_snapshots.c.share_group_id.in_(groups))
    return sa.and_(
        here,
        sa.or_(
            *(_operations.c.resource_id.in_(ids) for ids in (*residents, shares, snapshots, group_snapshots))
        ),
    )


def _rename_pools(conn: Connection, old: str, new: str) -> int:
    there = _pools.alias()
    taken = list(
        conn.execute(
            sa.select(_pools.c.host).where(
                below(_pools.c.host, old),
                sa.exists().where(there.c.host == _renamed(_pools.c.host, old, new)),
            )
        ).scalars()
    )
    conn.execute(_pools.delete().where(_pools.c.host.in_(taken)))
    return conn.execute(
        _pools.update()
        .where(below(_pools.c.host, old))
        .values(
            host=_renamed(_pools.c.host, old, new),
            backend_host=_renamed(_pools.c.backend_host, _backend(old), _backend(new)),
        )
    ).rowcount
