# SPDX-License-Identifier: Apache-2.0
"""Checks of the rows of share servers and their networks for the doctor, one statement each, as in ``doctor.py``."""

from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from manila_lite import states
from manila_lite.db import models
from manila_lite.db.doctor.operations import OPERATION_COLUMNS, operation_on, since
from manila_lite.db.queries import share_server_migration, share_server_queries
from manila_lite.db.queries.pool_reports import list_pools

#: The capability in which a backend reports the servers that it holds and that have no row.
STRAYS = 'stray_share_servers'

_servers = models.share_servers
_networks = models.share_networks
_subnets = models.share_network_subnets
_mappings = models.share_server_share_network_subnet_mappings
_addresses = models.network_allocations
_operations = models.operations

_OPERATION = (
    *OPERATION_COLUMNS,
    _operations.c.attempts,
    _operations.c.owner,
    _operations.c.lease_expires_at,
    _operations.c.error,
)


def _servers_with_work() -> sa.Select[Any]:
    return (
        sa.select(
            _servers.c.id,
            _servers.c.host,
            _servers.c.share_network_id,
            _servers.c.status.label('state'),
            _networks.c.project_id,
            _networks.c.user_id,
            since(_servers),
            *_OPERATION,
        )
        .join(_networks, _networks.c.id == _servers.c.share_network_id)
        .outerjoin(_operations, sa.or_(operation_on(_servers.c.id), _moving_here()))
        .order_by(_servers.c.created_at, _servers.c.id)
    )


def _moving_here() -> sa.ColumnElement[bool]:
    """Return the condition that the operation of the source server ends the status of a migration's target."""
    return sa.and_(
        operation_on(_servers.c.source_share_server_id),
        _operations.c.kind == share_server_migration.KIND,
        _servers.c.status == states.SHARE_SERVER['receive'].during,
    )


def list_servers(conn: Connection) -> list[Row[Any]]:
    """Return share servers in a transient status, each with the operation that will end it, if there is one."""
    return list(
        conn.execute(_servers_with_work().where(_servers.c.status.in_(states.SHARE_SERVER.transient)))
    )


def list_in_error(conn: Connection) -> list[Row[Any]]:
    """Return share servers that are neither in use nor in a transient status and yet have shares that are served, each with
    the operation on it, if there is one.
    """
    busy = (*share_server_queries.RUNNING, *states.SHARE_SERVER.transient)
    return list(
        conn.execute(
            _servers_with_work().where(
                _servers.c.status.not_in(busy), share_server_queries.has_served_shares()
            )
        )
    )


def find_server(conn: Connection, server_id: str) -> Row[Any] | None:
    """Return one share server as ``list_servers`` does, in any status."""
    return conn.execute(_servers_with_work().where(_servers.c.id == server_id)).first()


def _count(*conditions: Any) -> Any:
    return (
        sa.select(sa.func.count())
        .select_from(_servers)
        .where(_servers.c.share_network_id == _networks.c.id, *conditions)
        .scalar_subquery()
    )


def list_networks(conn: Connection) -> list[Row[Any]]:
    """Return networks in transition or being deleted, with their number of ``servers`` and of those ``changing``."""
    changing = states.SHARE_SERVER['change'].during
    return list(
        conn.execute(
            sa.select(
                _networks.c.id,
                _networks.c.project_id,
                _networks.c.status.label('state'),
                _networks.c.deletion_deferred,
                since(_networks),
                _count().label('servers'),
                _count(_servers.c.status == changing).label('changing'),
            )
            .where(
                sa.or_(_networks.c.deletion_deferred, _networks.c.status.in_(states.SHARE_NETWORK.transient))
            )
            .order_by(_networks.c.created_at, _networks.c.id)
        )
    )


def list_subnets_without_address(conn: Connection) -> list[Row[Any]]:
    """Return subnets in which a server has no address, and the operation on the server, if there is one.

    Servers whose creation failed have none, and need none.
    """
    address = sa.exists().where(
        _addresses.c.share_server_id == _mappings.c.share_server_id,
        _addresses.c.share_network_subnet_id == _mappings.c.share_network_subnet_id,
    )
    return list(
        conn.execute(
            sa.select(
                _subnets.c.id,
                _subnets.c.share_network_id,
                _networks.c.project_id,
                _networks.c.status.label('network_status'),
                _servers.c.id.label('server_id'),
                _servers.c.host,
                _servers.c.status.label('server_status'),
                _mappings.c.created_at.label('since'),
                *_OPERATION,
            )
            .join(_mappings, _mappings.c.share_network_subnet_id == _subnets.c.id)
            .join(_servers, _servers.c.id == _mappings.c.share_server_id)
            .join(_networks, _networks.c.id == _servers.c.share_network_id)
            .outerjoin(_operations, operation_on(_servers.c.id))
            .where(~address, _servers.c.status.in_(('active', states.SHARE_SERVER['change'].during)))
            .order_by(_mappings.c.created_at, _subnets.c.id, _servers.c.id)
        )
    )


def list_leaked_addresses(conn: Connection) -> list[Row[Any]]:
    """Return addresses in subnets that their server is not in, if no operation on the server is open."""
    mapped = sa.exists().where(
        _mappings.c.share_server_id == _addresses.c.share_server_id,
        _mappings.c.share_network_subnet_id == _addresses.c.share_network_subnet_id,
    )
    work = sa.exists().where(operation_on(_servers.c.id))
    return list(
        conn.execute(
            sa.select(
                _addresses.c.id,
                _addresses.c.ip_address,
                _addresses.c.share_server_id,
                _addresses.c.share_network_subnet_id,
                _servers.c.host,
                _networks.c.project_id,
                since(_addresses),
            )
            .join(_servers, _servers.c.id == _addresses.c.share_server_id)
            .join(_networks, _networks.c.id == _servers.c.share_network_id)
            .where(_addresses.c.share_network_subnet_id.is_not(None), ~mapped, ~work)
            .order_by(_addresses.c.created_at, _addresses.c.id)
        )
    )


class UnknownServers(NamedTuple):
    """The servers without a row that a backend reported."""

    host: str
    server_ids: tuple[str, ...]
    reported_at: Any


def list_unknown_servers(conn: Connection) -> list[UnknownServers]:
    """Return the servers that backends reported without a row, by backend. Servers that have a row by now are left out."""
    unknown: dict[str, UnknownServers] = {}
    known = set(conn.execute(sa.select(_servers.c.id)).scalars())
    for row in list_pools(conn):
        server_ids = tuple(sorted(set((row.capabilities or {}).get(STRAYS) or ()) - known))
        if server_ids:
            unknown[row.backend_host] = UnknownServers(row.backend_host, server_ids, row.reported_at)
    return list(unknown.values())
