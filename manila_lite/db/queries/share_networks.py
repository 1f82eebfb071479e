# SPDX-License-Identifier: Apache-2.0
"""Share networks. Abilities of their servers are computed with the row; subnets take one more statement, by network ids."""

from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from manila_lite import context
from manila_lite.db import models
from manila_lite.db.core import paging, row_locks
from manila_lite.db.core.rows import deleter, get_row, updater
from manila_lite.db.queries import share_network_subnets

_networks = models.share_networks
_subnets = models.share_network_subnets
_servers = models.share_servers
_instances = models.share_instances
_used = models.share_network_security_services

#: All columns that a list may be sorted by.
SORTABLE = {column.name: column for column in _networks.c}


def _all_servers(capability: str) -> sa.ColumnElement[bool]:
    """Return the condition that all servers of the network have the capability. It holds for a network without servers."""
    return ~sa.exists().where(_servers.c.share_network_id == _networks.c.id, ~_servers.c[capability])


def select() -> sa.Select[Any]:
    """Return the SELECT of share network rows, without those that are deleted for their owner."""
    return sa.select(
        *_networks.c,
        *(
            _all_servers(name).label(name)
            for name in ('security_service_update_support', 'network_allocation_update_support')
        ),
    ).where(~_networks.c.deletion_deferred)


def _mine(ctx: context.RequestContext) -> list[sa.ColumnElement[bool]]:
    return [] if ctx.is_admin else [_networks.c.project_id == ctx.project_id]


def get(conn: Connection, ctx: context.RequestContext, network_id: str) -> Row[Any]:
    """Return a share network of the caller's project.

    :raises errors.NotFound: there is none.
    """
    return get_row(
        conn, select().where(_networks.c.id == network_id, *_mine(ctx)), 'share network', network_id
    )


def lock(conn: Connection, network_id: str, statuses: Iterable[str]) -> bool:
    """Lock the network until the transaction ends. Say whether it is in one of the statuses.

    Callers that add to a network, remove from it or check whether it is in use call this first.
    """
    return row_locks.lock(
        conn, _networks, _networks.c.id == network_id, _networks.c.status.in_(tuple(statuses))
    )


_EQUAL = ('id', 'name', 'description', 'status')
_OF_SUBNETS = ('neutron_net_id', 'neutron_subnet_id', 'network_type', 'segmentation_id', 'cidr', 'ip_version')


def _conditions(filters: dict[str, Any], project_id: str | None) -> list[sa.ColumnElement[bool]]:
    where = paging.conditions(filters, _networks.c, _EQUAL, ('name', 'description'), project_id)
    if filters.get('security_service_id') is not None:
        where.append(
            sa.exists().where(
                _used.c.share_network_id == _networks.c.id,
                _used.c.security_service_id == filters['security_service_id'],
            )
        )
    # One subnet must match all of these filters.
    subnet = [
        share_network_subnets.SHOWN.get(key, _subnets.c[key]) == filters[key]
        for key in _OF_SUBNETS
        if filters.get(key) is not None
    ]
    if subnet:
        where.append(
            sa.exists().where(
                _subnets.c.share_network_id == _networks.c.id, ~_subnets.c.deletion_deferred, *subnet
            )
        )
    return where


def list_networks(
    conn: Connection, filters: dict[str, Any], page: paging.Page, *, project_id: str | None
) -> list[Row[Any]]:
    """Return share networks of a project (None: of all)."""
    query = select().where(*_conditions(filters, project_id))
    return list(conn.execute(page.apply(query, SORTABLE, tie=_networks.c.id)).all())


#: Set these values of the network. Never a status.
update = updater(_networks)


def delete_for_owner(conn: Connection, network_id: str) -> None:
    """Delete the network for its owner. Its row is deleted with the last of its servers."""
    conn.execute(_networks.update().where(_networks.c.id == network_id).values(deletion_deferred=True))


def delete_if_without_servers(conn: Connection, network_id: str) -> bool:
    """Delete the network's row if it is deleted for its owner and has no servers any more. Say whether it was."""
    return bool(
        conn.execute(
            _networks.delete().where(
                _networks.c.id == network_id,
                _networks.c.deletion_deferred,
                ~sa.exists().where(_servers.c.share_network_id == network_id),
            )
        ).rowcount
    )


#: Delete the network, with its subnets and its use of security services.
delete = deleter(_networks)


def count_shares(conn: Connection, network_id: str, *, without_server: bool = False) -> int:
    """Return how many share instances are in the network; with ``without_server``, only those that have no server yet."""
    query = sa.select(sa.func.count()).where(_instances.c.share_network_id == network_id)
    if without_server:
        query = query.where(_instances.c.share_server_id.is_(None))
    return conn.execute(query).scalar_one()


# Security services -------------------------------------------------------------------------------


def attach(conn: Connection, network_id: str, service_id: str) -> None:
    """Have the network use the security service."""
    conn.execute(_used.insert().values(share_network_id=network_id, security_service_id=service_id))


def detach(conn: Connection, network_id: str, service_id: str) -> bool:
    """End the network's use of the security service. Say whether it was used."""
    return bool(
        conn.execute(
            _used.delete().where(
                _used.c.share_network_id == network_id, _used.c.security_service_id == service_id
            )
        ).rowcount
    )
