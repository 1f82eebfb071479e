# SPDX-License-Identifier: Apache-2.0
"""Security services and the share networks that use them."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from manila_lite import context
from manila_lite.db import models
from manila_lite.db.core import paging, row_locks
from manila_lite.db.core.rows import deleter, get_row, updater

_services = models.security_services
_used = models.share_network_security_services
_servers = models.share_servers
_networks = models.share_networks

#: All columns that a list may be sorted by; not the password, whose order would reveal it.
SORTABLE = {column.name: column for column in _services.c if column.name != 'password'}


def get(conn: Connection, ctx: context.RequestContext, service_id: str) -> Row[Any]:
    """Return a security service of the caller's project.

    :raises errors.NotFound: there is none.
    """
    mine = [] if ctx.is_admin else [_services.c.project_id == ctx.project_id]
    return get_row(
        conn, sa.select(_services).where(_services.c.id == service_id, *mine), 'security service', service_id
    )


def list_by_ids(conn: Connection, service_ids: Iterable[str]) -> list[Row[Any]]:
    """Return these security services, of any project."""
    return list(conn.execute(sa.select(_services).where(_services.c.id.in_(tuple(service_ids)))))


def lock(conn: Connection, service_id: str) -> bool:
    """Lock the service against being attached or deleted until the transaction ends. Say whether it exists."""
    return row_locks.lock(conn, _services, _services.c.id == service_id)


_EQUAL = ('id', 'name', 'description', 'type', 'dns_ip', 'server', 'domain', 'user', 'ou', 'default_ad_site')


def list_services(
    conn: Connection, filters: dict[str, Any], page: paging.Page, *, project_id: str | None
) -> list[Row[Any]]:
    """Return security services of a project (None: of all)."""
    where = paging.conditions(filters, _services.c, _EQUAL, project_id=project_id)
    if filters.get('share_network_id') is not None:
        where.append(
            sa.exists().where(
                _used.c.security_service_id == _services.c.id,
                _used.c.share_network_id == filters['share_network_id'],
            )
        )
    return list(
        conn.execute(page.apply(sa.select(_services).where(*where), SORTABLE, tie=_services.c.id)).all()
    )


def networks_of(conn: Connection, service_ids: Iterable[str], *, seen: bool = False) -> dict[str, list[str]]:
    """Return the ids of the share networks that use services, by service id; with ``seen``, without those that are deleted
    for their owner, whose servers use the services until they are deleted.
    """
    network_ids: dict[str, list[str]] = defaultdict(list)
    query = sa.select(_used).where(_used.c.security_service_id.in_(tuple(service_ids)))
    if seen:
        query = query.where(
            sa.exists().where(_networks.c.id == _used.c.share_network_id, ~_networks.c.deletion_deferred)
        )
    for row in conn.execute(query.order_by(_used.c.share_network_id)):
        network_ids[row.security_service_id].append(row.share_network_id)
    return network_ids


def types_of(conn: Connection, network_id: str) -> dict[str, str]:
    """Return the types of the services that a network uses, by service id."""
    return {
        row.id: row.type
        for row in conn.execute(
            sa.select(_services.c.id, _services.c.type)
            .join(_used, _used.c.security_service_id == _services.c.id)
            .where(_used.c.share_network_id == network_id)
        )
    }


def count_servers(conn: Connection, service_id: str) -> int:
    """Return how many share servers are in networks that use the service."""
    return conn.execute(
        sa.select(sa.func.count())
        .select_from(_servers)
        .join(_used, _used.c.share_network_id == _servers.c.share_network_id)
        .where(_used.c.security_service_id == service_id)
    ).scalar_one()


def count(conn: Connection, project_id: str) -> int:
    """Return how many services a project has."""
    return conn.execute(
        sa.select(sa.func.count()).select_from(_services).where(_services.c.project_id == project_id)
    ).scalar_one()


def insert(conn: Connection, values: dict[str, Any]) -> None:
    """Insert the service."""
    conn.execute(_services.insert().values(**values))


#: Set these values of the service.
update = updater(_services)


#: Delete the service, which no network uses.
delete = deleter(_services)
