# SPDX-License-Identifier: Apache-2.0
"""Abilities of share servers: those that their backend reported, and those in their rows.

The rows get them on creation, and later from ``manila-manage``.
"""

from collections.abc import Collection, Iterable
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from manila_lite.db import models
from manila_lite.db.queries import hosts

_servers, _pools, _services = models.share_servers, models.pools, models.services

#: Abilities that a server keeps from its creation. An administrator may bring them up to date.
NAMES = (
    'network_allocation_update_support',
    'security_service_update_support',
    'share_replicas_migration_support',
    'share_server_multiple_subnet_support',
)


def reported(conn: Connection, host: str) -> dict[str, bool]:
    """Return the abilities of new servers of a backend: those that all its pools reported. A server serves all of them."""
    reports = (
        conn.execute(sa.select(_pools.c.capabilities).where(_pools.c.backend_host == host)).scalars().all()
    )
    return {name: bool(reports) and all(report.get(name) is True for report in reports) for name in NAMES}


def zones(conn: Connection) -> set[str | None]:
    """Return the ids of the zones with a backend that makes share servers, by the last reports of pools."""
    reports = conn.execute(
        sa.select(_pools.c.capabilities, _services.c.availability_zone_id)
        .join(_services, _services.c.host == _pools.c.backend_host)
        .where(_services.c.binary == 'manila-share')
    )
    return {zone_id for report, zone_id in reports if report.get('driver_handles_share_servers') is True}


def find(conn: Connection, server_ids: Collection[str] | None, host: str | None) -> list[Row[Any]]:
    """Return share servers of these ids (None: of any), and of a host, backend or pool's backend (None: of any)."""
    query = sa.select(
        _servers.c.id, _servers.c.host, _servers.c.status, *(_servers.c[name] for name in NAMES)
    )
    if server_ids is not None:
        query = query.where(_servers.c.id.in_(tuple(server_ids)))
    rows = conn.execute(query.order_by(_servers.c.host, _servers.c.id))
    return [row for row in rows if host is None or hosts.is_below(row.host, host)]


def write(conn: Connection, server_ids: Iterable[str], names: Iterable[str], value: bool) -> int:
    """Set whether the servers have these abilities. Return how many rows changed."""
    names = tuple(names)
    return conn.execute(
        _servers.update()
        .where(_servers.c.id.in_(tuple(server_ids)), sa.or_(*(_servers.c[name] != value for name in names)))
        .values(dict.fromkeys(names, value))
    ).rowcount
