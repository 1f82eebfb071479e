# SPDX-License-Identifier: Apache-2.0
"""Abilities of share servers in their rows: written on creation, and later by ``manila-manage``."""

from collections.abc import Collection, Iterable

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from manila_lite.db import models
from manila_lite.db.queries import hosts

_servers = models.share_servers

#: Abilities that an administrator may bring up to date.
NAMES = ('network_allocation_update_support', 'security_service_update_support', 'share_replicas_migration_support',
         'share_server_multiple_subnet_support')


def find(conn: Connection, server_ids: Collection[str] | None, host: str | None) -> list[Row]:
    """Return share servers of these ids (None: of any), and of a host, backend or pool's backend (None: of any)."""
    query = sa.select(_servers.c.id, _servers.c.host, _servers.c.status, *(_servers.c[name] for name in NAMES))
    if server_ids is not None:
        query = query.where(_servers.c.id.in_(tuple(server_ids)))
    rows = conn.execute(query.order_by(_servers.c.host, _servers.c.id))
    return [row for row in rows if host is None or hosts.is_below(row.host, host)]


def write(conn: Connection, server_ids: Iterable[str], names: Iterable[str], value: bool) -> int:
    """Set whether the servers have these abilities. Return how many rows changed."""
    names = tuple(names)
    return conn.execute(
        _servers.update().where(_servers.c.id.in_(tuple(server_ids)), sa.or_(*(_servers.c[name] != value for name in names)))
        .values(dict.fromkeys(names, value))).rowcount
