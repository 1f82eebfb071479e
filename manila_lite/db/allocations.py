# SPDX-License-Identifier: Apache-2.0
"""Addresses in use. That no two servers have the same one is the table's unique constraint's doing."""

from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa
from oslo_db import exception as oslo_db_exception
from sqlalchemy.engine import Connection, Row

from manila_lite.db import models

_allocations = models.network_allocations


#: Instead of the id of a share network subnet: in the network of administrators.
ADMIN = ''


def taken(conn: Connection, neutron_subnet_id: str) -> set[str]:
    """Return every address that is in use in a subnet of the network plugin, by whichever share network."""
    return set(conn.execute(sa.select(_allocations.c.ip_address)
                            .where(_allocations.c.neutron_subnet_id == neutron_subnet_id)).scalars())


def store(conn: Connection, rows: list[dict[str, Any]]) -> bool:
    """The addresses are in use; says no, and stores none of them, if somebody else has one of them."""
    try:
        with conn.begin_nested():
            # In one order everywhere, so that two who want the same ones wait for each other only one way.
            conn.execute(_allocations.insert(), sorted(rows, key=lambda row: row['ip_address']))
    except oslo_db_exception.DBDuplicateEntry:
        return False
    return True


def of_server(conn: Connection, server_id: str, subnet_id: str | None = None) -> list[Row]:
    """Return the addresses of a server, oldest first; with ``subnet_id`` those in that share network subnet (or ADMIN)."""
    query = sa.select(_allocations).where(_allocations.c.share_server_id == server_id)
    if subnet_id is not None:
        query = query.where(_allocations.c.share_network_subnet_id == (subnet_id or None))
    return list(conn.execute(query.order_by(_allocations.c.created_at, _allocations.c.ip_address)))


def remove(conn: Connection, idents: Iterable[str]) -> None:
    """The addresses are in use no more. Who removes them has freed them at the plugin."""
    conn.execute(_allocations.delete().where(_allocations.c.id.in_(tuple(idents))))
