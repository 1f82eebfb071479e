# SPDX-License-Identifier: Apache-2.0
"""Share servers for share managers: read many at once, find one with free capacity, find unused ones."""

from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa
from oslo_utils import timeutils
from sqlalchemy.engine import Connection, Row

from manila_lite.db import models
from manila_lite.db.core import key_values
from manila_lite.db.core.rows import group_rows
from manila_lite.db.queries import ensure, share_network_subnets, share_servers
from manila_lite.db.queries import shares as share_rows
from manila_lite.states import Migration

_servers = models.share_servers
_mappings = models.share_server_share_network_subnet_mappings
_subnets = models.share_network_subnets
_services = models.security_services
_used = models.share_network_security_services
_allocations = models.network_allocations
_instances = models.share_instances
_shares = models.shares
_groups = models.share_groups


def list_by_ids(conn: Connection, server_ids: Iterable[str]) -> list[Row[Any]]:
    """Return these share servers."""
    return list(conn.execute(share_servers.select().where(_servers.c.id.in_(tuple(server_ids)))))


#: Ids in one statement; databases limit them.
_AT_ONCE = 500
#: Statuses of servers that clients may be using.
RUNNING = ('active', 'network_change', 'server_migrating')


#: Statuses of servers that are being deleted or handed over, or that get their shares only at the end of a migration.
_NOT_HERE = ('deleting', 'unmanage_starting', 'server_migrating_to')


def has_served_shares() -> sa.ColumnElement[bool]:
    """Return the condition that the server has shares that its backend serves."""
    return sa.exists().where(
        _instances.c.share_server_id == _servers.c.id, _instances.c.status.not_in(tuple(ensure.NOT_SERVED))
    )


def _is_served() -> sa.ColumnElement[bool]:
    """Return the condition that the server shall run: clients may be using it, or it holds shares, even in error.

    After a failed cut-over its target may run already, perhaps with the same addresses.
    """
    target = _servers.alias()
    is_cut = sa.exists().where(
        target.c.source_share_server_id == _servers.c.id,
        target.c.status == 'error',
        _servers.c.task_state == Migration.ERROR.value,
    )
    return sa.or_(
        _servers.c.status.in_(RUNNING),
        sa.and_(_servers.c.status.not_in(_NOT_HERE), has_served_shares(), ~is_cut),
    )


def list_served(conn: Connection, host: str) -> list[str]:
    """Return the ids of the servers of a backend that shall run."""
    return list(
        conn.execute(
            sa.select(_servers.c.id).where(_servers.c.host == host, _is_served()).order_by(_servers.c.id)
        ).scalars()
    )


def is_served(conn: Connection, server_id: str) -> bool:
    """Say whether the server shall run."""
    return bool(conn.execute(sa.select(sa.exists().where(_servers.c.id == server_id, _is_served()))).scalar())


def subnets_of(conn: Connection, server_ids: Iterable[str]) -> dict[str, list[Row[Any]]]:
    """Return the subnets of servers by server id, in the order in which they got them."""
    query = (
        share_network_subnets.select()
        .add_columns(_mappings.c.share_server_id)
        .join(_mappings, _mappings.c.share_network_subnet_id == _subnets.c.id)
        .where(_mappings.c.share_server_id.in_(tuple(server_ids)))
        .order_by(_mappings.c.created_at, _subnets.c.created_at, _subnets.c.id)
    )
    return group_rows(conn.execute(query), 'share_server_id')


def security_services_of(conn: Connection, network_ids: Iterable[str]) -> dict[str, list[Row[Any]]]:
    """Return the security services that networks use, by network id."""
    query = (
        sa.select(_services, _used.c.share_network_id)
        .join(_used, _used.c.security_service_id == _services.c.id)
        .where(_used.c.share_network_id.in_(tuple(network_ids)))
        .order_by(_services.c.type, _services.c.id)
    )
    return group_rows(conn.execute(query), 'share_network_id')


def allocations_of(conn: Connection, server_ids: Iterable[str]) -> dict[str, list[Row[Any]]]:
    """Return the addresses of servers by server id, oldest first."""
    query = sa.select(_allocations).where(_allocations.c.share_server_id.in_(tuple(server_ids)))
    return group_rows(
        conn.execute(query.order_by(_allocations.c.created_at, _allocations.c.ip_address)), 'share_server_id'
    )


def subnets_for(conn: Connection, network_id: str, zone_id: str | None) -> list[Row[Any]]:
    """Return the subnets for a server in a zone: the zone's own, or else those for all zones. Without those that could not
    be added to servers in use, or that name no network, unless there is no other.
    """
    every = share_network_subnets.of_network(conn, network_id)
    own = [subnet for subnet in every if subnet.availability_zone_id == zone_id] or [
        subnet for subnet in every if subnet.availability_zone_id is None
    ]
    own = [subnet for subnet in own if subnet.neutron_subnet_id is not None] or own
    return [subnet for subnet in own if subnet.error is None] or own


def zone_of(conn: Connection, instance_id: str) -> str | None:
    """Return the id of the zone of a share instance's backend."""
    return conn.execute(
        sa.select(_instances.c.availability_zone_id).where(_instances.c.id == instance_id)
    ).scalar()


def subnets_of_request(
    conn: Connection, network_id: str | None, *, named: bool
) -> dict[str | None, int] | None:
    """Return ``subnets_by_zone`` for a request, or None for one without a network."""
    return subnets_by_zone(conn, network_id, named=named) if network_id else None


def subnets_by_zone(conn: Connection, network_id: str, *, named: bool = False) -> dict[str | None, int]:
    """Return how many subnets for servers a network has, by zone id; ``None`` stands for all zones without their own.

    As ``subnets_for``, without those that could not be added to servers in use, or that name no network, unless there is
    no other. ``named``: those that name no network never count.
    """
    names = _subnets.c.neutron_subnet_id.is_not(None)
    counts = (
        sa.func.count(sa.case((sa.and_(names, _subnets.c.error.is_(None)), 1))),
        sa.func.count(sa.case((names, 1))),
        sa.func.count(),
    )
    return {
        zone_id: whole or placed or (0 if named else every)
        for zone_id, whole, placed, every in conn.execute(
            sa.select(_subnets.c.availability_zone_id, *counts)
            .where(_subnets.c.share_network_id == network_id, ~_subnets.c.deletion_deferred)
            .group_by(_subnets.c.availability_zone_id)
        )
    }


def encryption_key_for(conn: Connection, share: Any) -> str | None:
    """Return the id of the key that the server of a share (a row) is encrypted with, or None."""
    key: str | None = getattr(share, 'encryption_key_ref', None)
    if key is None:
        return None
    specs = key_values.of(conn, models.share_type_extra_specs, share.share_type_id)
    return key if specs.get('encryption_support') == 'share_server' else None


def find_with_capacity(
    conn: Connection,
    host: str,
    network_id: str,
    subnet_ids: Iterable[str],
    size: int,
    *,
    most_shares: int,
    most_gb: int,
    key: str | None = None,
) -> str | None:
    """Return the fullest server of the network on a backend that can take ``size`` GiB more, encrypted with ``key``, or
    unencrypted if that is None. For limits, -1 means no limit.
    """
    shares = sa.func.count(_instances.c.id)
    total = sa.func.coalesce(sa.func.sum(_shares.c.size), 0)
    query = (
        sa.select(_servers.c.id)
        .outerjoin(_instances, _instances.c.share_server_id == _servers.c.id)
        .outerjoin(_shares, _shares.c.id == _instances.c.share_id)
        .where(
            _servers.c.host == host,
            _servers.c.share_network_id == network_id,
            _servers.c.status.in_(('active', 'creating')),
            _servers.c.encryption_key_ref == key,
            maps_to(subnet_ids),
        )
        .group_by(_servers.c.id, _servers.c.created_at)
        .order_by(shares.desc(), _servers.c.created_at, _servers.c.id)
    )
    if most_shares >= 0:
        query = query.having(shares < most_shares)
    if most_gb >= 0:
        query = query.having(total + size <= most_gb)
    return conn.execute(query.limit(1)).scalar()


def maps_to(subnet_ids: Iterable[str]) -> sa.ColumnElement[bool]:
    """Return the condition that the server is in all of the subnets."""
    return sa.and_(
        *(
            sa.exists().where(
                _mappings.c.share_server_id == _servers.c.id, _mappings.c.share_network_subnet_id == subnet_id
            )
            for subnet_id in subnet_ids
        )
    )


def filter_deleted(conn: Connection, server_ids: Iterable[str]) -> list[str]:
    """Return those of these ids that were share servers here, by finished operations, and have no row any more."""
    ops = models.operations
    deleted: set[str] = set()
    asked = sorted(server_ids)
    for start in range(0, len(asked), _AT_ONCE):
        deleted.update(
            conn.execute(
                sa.select(ops.c.resource_id)
                .where(
                    ops.c.resource_type == 'share_server',
                    ops.c.resource_id.in_(asked[start : start + _AT_ONCE]),
                    ~sa.exists().where(_servers.c.id == ops.c.resource_id),
                )
                .distinct()
            ).scalars()
        )
    return sorted(deleted)


def shares_on(conn: Connection, server_id: str) -> list[Row[Any]]:
    """Return the shares that a server exports."""
    return list(
        conn.execute(
            share_rows.select()
            .where(
                _instances.c.share_server_id == server_id,
                _instances.c.status.not_in(('creating', 'deleting', 'error')),
            )
            .order_by(_instances.c.id)
        )
    )


def list_in_subnets(conn: Connection, subnet_ids: Iterable[str]) -> list[Row[Any]]:
    """Return the servers that are in any of the subnets."""
    mapped = sa.select(_mappings.c.share_server_id).where(
        _mappings.c.share_network_subnet_id.in_(tuple(subnet_ids))
    )
    return list(conn.execute(share_servers.select().where(_servers.c.id.in_(mapped)).order_by(_servers.c.id)))


#: Statuses of servers that could not be created, managed, unmanaged or changed.
_FAILED = ('error', 'manage_error', 'unmanage_error')


def filter_failed(conn: Connection, server_ids: Iterable[str]) -> set[str]:
    """Return those of these servers that failed and hold nothing: no group, and no share but such that never existed."""
    never_made = sa.and_(
        _instances.c.status == 'error',
        _instances.c.launched_at.is_(None),
        ~_instances.c.is_secondary,
        _instances.c.replica_state.is_(None),
    )
    return set(
        conn.execute(
            sa.select(_servers.c.id).where(
                _servers.c.id.in_(tuple(server_ids)),
                _servers.c.status.in_(_FAILED),
                ~sa.exists().where(_instances.c.share_server_id == _servers.c.id, ~never_made),
                ~sa.exists().where(_groups.c.share_server_id == _servers.c.id),
            )
        ).scalars()
    )


def find_unhealthy_share(conn: Connection, server_ids: Iterable[str]) -> Row[Any] | None:
    """Return a share on the servers that is not available or whose rules are not active, or None."""
    return conn.execute(
        share_rows.select()
        .where(
            _instances.c.share_server_id.in_(tuple(server_ids)),
            sa.or_(_instances.c.status != 'available', _instances.c.access_rules_status != 'active'),
        )
        .limit(1)
    ).first()


def snapshots_of(conn: Connection, share_ids: Iterable[str]) -> list[Row[Any]]:
    """Return the available snapshots of shares."""
    table = models.snapshots
    return list(
        conn.execute(
            sa.select(table)
            .where(table.c.share_id.in_(tuple(share_ids)), table.c.status == 'available')
            .order_by(table.c.id)
        )
    )


def is_any_changing(conn: Connection, network_id: str) -> bool:
    """Say whether any server of the network is in status network_change."""
    return bool(
        conn.execute(
            sa.select(
                sa.exists().where(
                    _servers.c.share_network_id == network_id, _servers.c.status == 'network_change'
                )
            )
        ).scalar()
    )


def has_open_operation(conn: Connection, project_id: str, kind: str) -> bool:
    """Say whether an operation of that kind on any server of the project is open."""
    ops, networks = models.operations, models.share_networks
    return bool(
        conn.execute(
            sa.select(
                sa.exists().where(
                    ops.c.kind == kind,
                    ops.c.state == 'open',
                    ops.c.resource_id == _servers.c.id,
                    _servers.c.share_network_id == networks.c.id,
                    networks.c.project_id == project_id,
                )
            )
        ).scalar()
    )


def add_to_subnet(conn: Connection, server_ids: Iterable[str], subnet_id: str) -> None:
    """Put the servers into the subnet."""
    if rows := [
        {'share_server_id': server_id, 'share_network_subnet_id': subnet_id} for server_id in server_ids
    ]:
        conn.execute(_mappings.insert(), rows)


def remove_from_subnet(conn: Connection, server_id: str, subnet_id: str) -> None:
    """Take the server out of the subnet."""
    conn.execute(
        _mappings.delete().where(
            _mappings.c.share_server_id == server_id, _mappings.c.share_network_subnet_id == subnet_id
        )
    )


def update(conn: Connection, server_id: str, **values: Any) -> None:
    """Set these values of the server, and note that it is in use. Never a status."""
    conn.execute(
        _servers.update().where(_servers.c.id == server_id).values(updated_at=timeutils.utcnow(), **values)
    )
