# SPDX-License-Identifier: Apache-2.0
"""Rows that move with a share server, read and written for all its shares in a fixed number of statements."""

from collections.abc import Iterable, Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from manila_lite.db import models
from manila_lite.db.core import row_locks
from manila_lite.db.core.prepared import WriteEach
from manila_lite.db.queries import access, shares
from manila_lite.db.queries.operations import NEWEST_FIRST, Operation
from manila_lite.operation_data.left_copies import ReleaseServer
from manila_lite.operation_data.migrations import Reached
from manila_lite.states import Migration

_servers = models.share_servers
_instances = models.share_instances
_snapshots = models.snapshots
_allocations = models.network_allocations

KIND, CHECK = 'share_server.migrate', 'share_server.migration_check'
RELEASE, RULES = 'share_server.release', 'share_server.apply_rules'
#: The operation at the source's backend that lets the server run with the addresses which it has now.
READDRESS = 'share_server.readdress'
#: The operation at the source's backend that ends the exports of the server's shares and their snapshots there.
CLOSE = 'share_server.close'
#: The operation that deletes the copy of a migration that was cancelled without its target's backend.
CLEAR = 'share_server.clear'


def shares_of(conn: Connection, server_id: str) -> list[Row[Any]]:
    """Return all shares of the server, in any status."""
    return list(
        conn.execute(
            shares.select().where(_instances.c.share_server_id == server_id).order_by(_instances.c.id)
        )
    )


def snapshots_of(conn: Connection, server_id: str) -> list[Row[Any]]:
    """Return all snapshots of the server's shares, in any status."""
    mine = sa.select(_instances.c.share_id).where(_instances.c.share_server_id == server_id)
    return list(
        conn.execute(sa.select(_snapshots).where(_snapshots.c.share_id.in_(mine)).order_by(_snapshots.c.id))
    )


def last(conn: Connection, server_id: str) -> Operation | None:
    """Return the newest migration of the server, running or not, as source or as target."""
    source = sa.select(_servers.c.source_share_server_id).where(_servers.c.id == server_id).scalar_subquery()
    table = models.operations
    row = conn.execute(
        sa.select(table)
        .where(table.c.kind == KIND, sa.or_(table.c.resource_id == server_id, table.c.resource_id == source))
        .order_by(*NEWEST_FIRST)
        .limit(1)
    ).first()
    return Operation(*row) if row else None


def last_release(conn: Connection, server_id: str) -> Operation | None:
    """Return the newest operation that deletes the server, or a copy on it, after a migration. Or None."""
    table = models.operations
    row = conn.execute(
        sa.select(table)
        .where(table.c.kind.in_((RELEASE, CLEAR)), table.c.resource_id == server_id)
        .order_by(*NEWEST_FIRST)
        .limit(1)
    ).first()
    return Operation(*row) if row else None


def instances_to_delete(conn: Connection, host: str) -> set[str]:
    """Return the share instances that the backend still has to delete, after migrations from it or to it. If it could not, they
    are there as long as their server.
    """
    table = models.operations
    server = sa.exists().where(_servers.c.id == table.c.resource_id)
    rows = conn.execute(
        sa.select(table.c.data).where(
            table.c.kind.in_((RELEASE, CLEAR)),
            table.c.host == host,
            sa.or_(table.c.state.in_(('open', 'parked')), sa.and_(table.c.state == 'failed', server)),
        )
    ).scalars()
    return {share.id for data in rows for share in ReleaseServer.from_json(data).shares}


def moves_to(conn: Connection, instance_id: str, host: str) -> bool:
    """Say whether a host copies the share instance at this moment, with its share server, to the backend ``host``."""
    table = models.operations
    row = conn.execute(
        sa.select(table.c.host, table.c.data)
        .join(_instances, _instances.c.share_server_id == table.c.resource_id)
        .where(_instances.c.id == instance_id, table.c.kind == KIND, table.c.state.in_(('open', 'parked')))
        .order_by(*NEWEST_FIRST)
        .limit(1)
    ).first()
    return row is not None and row.host == host and Reached.from_json(row.data).by_host


def is_unfinished(conn: Connection, server_id: str) -> bool:
    """Say whether the server has a migration that is under way, or whose cut-over failed and can be repeated."""
    table = models.operations
    row = conn.execute(
        sa.select(table.c.state, table.c.data, _servers.c.status)
        .join(_servers, _servers.c.id == table.c.resource_id)
        .where(table.c.kind == KIND, table.c.resource_id == server_id)
        .order_by(*NEWEST_FIRST)
        .limit(1)
    ).first()
    if row is None:
        return False
    return row.state in ('open', 'parked') or (
        row.state == 'failed' and row.status == 'error' and Reached.from_json(row.data).cut
    )


def moves_on(conn: Connection, server_id: str) -> bool:
    """Say whether the server moves, or has moved, to another one."""
    return bool(
        conn.execute(sa.select(sa.exists().where(_servers.c.source_share_server_id == server_id))).scalar()
    )


def is_half_moved(conn: Connection, server_id: str) -> bool:
    """Say whether the server is the target of a migration that runs, or that failed and may hold the only data."""
    source = _servers.alias()
    return bool(
        conn.execute(
            sa.select(
                sa.exists().where(
                    _servers.c.id == server_id,
                    source.c.id == _servers.c.source_share_server_id,
                    source.c.status.in_(('server_migrating', 'error')),
                )
            )
        ).scalar()
    )


def cast_rules(conn: Connection, server_id: str, readonly: bool) -> int:
    """Set whether the rules of all shares of the server count as read-only. Return for how many shares that changed."""
    return conn.execute(
        _instances.update()
        .where(
            _instances.c.share_server_id == server_id, _instances.c.cast_rules_to_readonly.is_not(readonly)
        )
        .values(cast_rules_to_readonly=readonly)
    ).rowcount


def lock_rules(conn: Connection, server_id: str) -> None:
    """Do as ``access.lock`` for all shares of the server."""
    conn.execute(
        sa.select(_instances.c.id).where(_instances.c.share_server_id == server_id).with_for_update()
    )
    row_locks.certify(conn, _instances, _instances.c.share_server_id == server_id)


def is_completing(conn: Connection, server_id: str | None) -> bool:
    """Say whether the server is being replaced by its copy at this moment."""
    return bool(
        server_id
        and conn.execute(
            sa.select(
                sa.exists().where(_servers.c.id == server_id, _servers.c.task_state == Migration.COMPLETING)
            )
        ).scalar()
    )


def is_applying_rules(conn: Connection, server_id: str) -> bool:
    """Say whether an operation that applies the access rules of one of the server's shares is open."""
    table = models.operations
    mine = sa.select(_instances.c.share_id).where(_instances.c.share_server_id == server_id)
    return bool(
        conn.execute(
            sa.select(
                sa.exists().where(
                    table.c.kind == access.SYNC, table.c.state == 'open', table.c.resource_id.in_(mine)
                )
            )
        ).scalar()
    )


def with_writable_rules(conn: Connection, server_id: str) -> list[Row[Any]]:
    """Return the shares of the server whose rules do not count as read-only."""
    return list(
        conn.execute(
            shares.select().where(
                _instances.c.share_server_id == server_id, ~_instances.c.cast_rules_to_readonly
            )
        )
    )


def take_addresses(conn: Connection, source_id: str, target_id: str) -> None:
    """Give the source's addresses in its share network to the target."""
    conn.execute(
        _allocations.update()
        .where(
            _allocations.c.share_server_id == source_id, _allocations.c.share_network_subnet_id.is_not(None)
        )
        .values(share_server_id=target_id)
    )


def move_shares(conn: Connection, source_id: str, target_id: str, values: Mapping[str, Any]) -> None:
    """Move the source's shares to the target. ``values``: what else changes, the same for all (host, zone, network)."""
    conn.execute(
        _instances.update()
        .where(_instances.c.share_server_id == source_id)
        .values(share_server_id=target_id, **values)
    )


def set_hosts(conn: Connection, hosts: Mapping[str, str]) -> None:
    """Store the hosts of share instances, by id."""
    _HOSTS.execute(conn, hosts)


def set_provider_locations(conn: Connection, locations: Mapping[str, str | None]) -> None:
    """Store the snapshots' locations, by id."""
    _LOCATIONS.execute(conn, locations)


_HOSTS = WriteEach(_instances.update(), _instances.c.id, _instances.c.host)
_LOCATIONS = WriteEach(_snapshots.update(), _snapshots.c.id, _snapshots.c.provider_location)


def types_of(rows: Iterable[Any]) -> set[str]:
    """Return the ids of the shares' types."""
    return {row.share_type_id for row in rows if row.share_type_id}
