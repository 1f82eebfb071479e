# SPDX-License-Identifier: Apache-2.0
"""Addresses in use. The table's unique constraint makes sure that no two servers have the same one."""

from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa
from oslo_db import exception as oslo_db_exception
from sqlalchemy.engine import Connection, Row

from manila_lite.db import models
from manila_lite.db.core.savepoints import savepoint

_allocations = models.network_allocations


#: In the place of the id of a share network subnet: the administrators' network.
ADMIN = ''


def used_addresses(conn: Connection, neutron_subnet_id: str) -> set[str]:
    """Return every address that is in use in a subnet of the network plugin, by any share network."""
    return set(
        conn.execute(
            sa.select(_allocations.c.ip_address).where(_allocations.c.neutron_subnet_id == neutron_subnet_id)
        ).scalars()
    )


def store(conn: Connection, rows: list[dict[str, Any]]) -> bool:
    """Store the addresses. If another server has one of them, store none and return False."""
    try:
        with savepoint(conn):
            # In one order everywhere, so that two transactions for the same addresses cannot wait for each other.
            conn.execute(_allocations.insert(), sorted(rows, key=lambda row: row['ip_address']))
    except oslo_db_exception.DBDuplicateEntry:
        return False
    return True


def of_server(conn: Connection, server_id: str, subnet_id: str | None = None) -> list[Row[Any]]:
    """Return the addresses of a server in its share network, oldest first; with ``subnet_id`` those in that subnet of it, or in
    the administrators' network (``ADMIN``). No call returns both: they may be of different network plugins.
    """
    query = sa.select(_allocations).where(_allocations.c.share_server_id == server_id, _are_in(subnet_id))
    return list(conn.execute(query.order_by(_allocations.c.created_at, _allocations.c.ip_address)))


def _are_in(subnet_id: str | None) -> sa.ColumnElement[bool]:
    column = _allocations.c.share_network_subnet_id
    return column.is_not(None) if subnet_id is None else column.is_not_distinct_from(subnet_id or None)


def taken_over(conn: Connection, server_id: str, subnet_id: str | None = None) -> list[Row[Any]]:
    """Return the addresses of the share servers to which this one moved: they may have been its own. See ``of_server``."""
    servers = models.share_servers
    query = sa.select(_allocations).join(servers, servers.c.id == _allocations.c.share_server_id)
    return list(conn.execute(query.where(servers.c.source_share_server_id == server_id, _are_in(subnet_id))))


def by_ids(conn: Connection, allocation_ids: Iterable[str]) -> list[Row[Any]]:
    """Return these addresses."""
    return list(conn.execute(sa.select(_allocations).where(_allocations.c.id.in_(tuple(allocation_ids)))))


def set_owner(conn: Connection, server_id: str, allocation_ids: Iterable[str]) -> None:
    """Give addresses to a server."""
    conn.execute(
        _allocations.update()
        .where(_allocations.c.id.in_(tuple(allocation_ids)))
        .values(share_server_id=server_id)
    )


def delete(conn: Connection, allocation_ids: Iterable[str]) -> None:
    """Delete the addresses. The caller has freed them at the plugin."""
    conn.execute(_allocations.delete().where(_allocations.c.id.in_(tuple(allocation_ids))))
