# SPDX-License-Identifier: Apache-2.0
"""Everything that has to leave a backend, or all backends of a host, in a fixed order, and its evacuations."""

from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from manila_lite.db import models
from manila_lite.db.queries import hosts, operations, share_migration, share_server_migration, share_servers
from manila_lite.operation_data.evacuation import START, Evacuate

KIND = 'service.evacuate'
#: Types of resources on a backend, in the order in which they leave it: what moves, and what only others can remove.
TYPES = SERVER, SHARE, REPLICA, COPY = ('share_server', 'share', 'share_replica', 'share_instance')

_servers = models.share_servers
_networks = models.share_networks
_instances = models.share_instances
_shares = models.shares
_operations = models.operations
_services = models.services


def unique_key(host: str) -> str:
    """Return the open key of such an operation: a host has at most one."""
    return f'evacuate:{host.partition("@")[0]}'


def current(conn: Connection, host: str) -> Row[Any] | None:
    """Return the open evacuation of the host, or of one of its backends. Or None."""
    return conn.execute(sa.select(_operations).where(_operations.c.unique_key == unique_key(host))).first()


def newest(conn: Connection, host: str) -> Row[Any] | None:
    """Return the newest evacuation of the backend, or of the whole host, that is more than a plan. Or None."""
    rows = conn.execute(
        sa.select(_operations).where(_operations.c.kind == KIND).order_by(*operations.NEWEST_FIRST)
    ).all()
    return next(
        (
            row
            for row in rows
            if (data := Evacuate.from_json(row.data)).host in (host, host.partition('@')[0])
            and not data.dry_run
        ),
        None,
    )


def _residents(host: str) -> sa.CompoundSelect[Any]:
    """Select rank (the position in ``TYPES``), id, project, host, status, GiB and number of shares of everything there.

    Copies and replicas that are being deleted do not count: their shares are elsewhere.
    """
    size = _sum(_shares.c.size)
    mine = [_servers.c.id, _networks.c.project_id, _servers.c.host, _servers.c.status]
    servers = (
        sa.select(
            sa.literal(TYPES.index(SERVER)).label('rank'),
            *mine,
            size.label('size'),
            sa.func.count().label('shares'),
        )
        .join(_networks, _networks.c.id == _servers.c.share_network_id)
        .join(_instances, sa.and_(_instances.c.share_server_id == _servers.c.id, ~_instances.c.is_secondary))
        .join(_shares, _shares.c.id == _instances.c.share_id)
        .where(hosts.below(_servers.c.host, host))
        .group_by(*mine)
    )
    secondary = _instances.c.is_secondary
    rank = sa.case(
        (~secondary, TYPES.index(SHARE)),
        (_instances.c.replica_state.is_not(None), TYPES.index(REPLICA)),
        else_=TYPES.index(COPY),
    )
    singles = (
        sa.select(
            rank,
            sa.case((secondary, _instances.c.id), else_=_shares.c.id),
            _shares.c.project_id,
            _instances.c.host,
            _instances.c.status,
            _shares.c.size,
            sa.literal(1),
        )
        .join(_shares, _shares.c.id == _instances.c.share_id)
        .where(
            hosts.below(_instances.c.host, host),
            sa.or_(
                sa.and_(secondary, _instances.c.status != 'deleting'),
                sa.and_(~secondary, _instances.c.share_server_id.is_(None)),
            ),
        )
    )
    return sa.union_all(servers, singles)


def _sum(column: sa.ColumnElement[int]) -> sa.ColumnElement[int]:
    # The sum of integers is a decimal number in some databases.
    return sa.cast(sa.func.coalesce(sa.func.sum(column), 0), sa.Integer)


def list_after(conn: Connection, host: str, after: tuple[str, str], limit: int) -> list[Row[Any]]:
    """Return the next resources on the host after one, by type and id: ``rank``, id, project_id, host, status, size (GiB),
    and the number of ``shares``.
    """
    every = _residents(host).subquery()
    query = sa.select(every)
    if after != START:
        rank = TYPES.index(after[0])
        query = query.where(sa.or_(every.c.rank > rank, sa.and_(every.c.rank == rank, every.c.id > after[1])))
    return list(conn.execute(query.order_by(every.c.rank, every.c.id).limit(limit)))


def names(conn: Connection, ids: Iterable[str]) -> dict[str, str]:
    """Return the names of shares, and of the share networks of share servers, by the id of the share or the server; only of
    those that have one.
    """
    wanted = tuple(ids)
    shares = sa.select(_shares.c.id, _shares.c.name).where(_shares.c.id.in_(wanted))
    servers = (
        sa.select(_servers.c.id, _networks.c.name)
        .join(_networks, _networks.c.id == _servers.c.share_network_id)
        .where(_servers.c.id.in_(wanted))
    )
    return {row.id: row.name for query in (shares, servers) for row in conn.execute(query) if row.name}


def disabled_backends(conn: Connection, host: str) -> list[str]:
    """Return those of the backend, or of the backends of the host, that are disabled."""
    return list(
        conn.execute(
            sa.select(_services.c.host)
            .where(
                _services.c.binary == 'manila-share',
                _services.c.disabled,
                hosts.below(_services.c.host, host),
            )
            .order_by(_services.c.host)
        ).scalars()
    )


def count(conn: Connection, host: str) -> tuple[int, int]:
    """Return how many resources are on the host, and the GiB of their shares."""
    every = _residents(host).subquery()
    number, size = conn.execute(sa.select(sa.func.count(), _sum(every.c.size)).select_from(every)).one()
    return number, size


def still_there(conn: Connection, host: str, type_: str, ids: Iterable[str]) -> dict[str, str]:
    """Return the statuses of those share servers, or shares, that are on the host, by id."""
    columns = {
        SERVER: (_servers.c.id, _servers.c.status, _servers.c.host),
        SHARE: (_instances.c.share_id, _instances.c.status, _instances.c.host),
    }[type_]
    query = sa.select(*columns[:2]).where(columns[0].in_(tuple(ids)), hosts.below(columns[2], host))
    if type_ == SHARE:
        query = query.where(~_instances.c.is_secondary)
    return {row[0]: row[1] for row in conn.execute(query)}


def last_migrations(conn: Connection, resource_ids: Iterable[str]) -> dict[str, Row[Any]]:
    """Return the newest migration of each of these share servers and shares, as their source, by id."""
    rows = conn.execute(
        sa.select(_operations)
        .where(
            _operations.c.resource_id.in_(tuple(resource_ids)),
            _operations.c.kind.in_((share_server_migration.KIND, share_migration.KIND)),
        )
        .order_by(*operations.BY_AGE)
    )
    return {row.resource_id: row for row in rows}


def list_empty_servers(conn: Connection, host: str, limit: int) -> list[Row[Any]]:
    """Return share servers on the host that have no shares, may be deleted automatically, and are in a status for it."""
    return list(
        conn.execute(
            share_servers.select()
            .where(
                hosts.below(_servers.c.host, host),
                _servers.c.is_auto_deletable,
                _servers.c.status.in_(('active', 'error')),
                ~sa.exists().where(_instances.c.share_server_id == _servers.c.id),
            )
            .order_by(_servers.c.id)
            .limit(limit)
        )
    )
