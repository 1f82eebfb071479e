# SPDX-License-Identifier: Apache-2.0
"""Subnets of share networks."""

from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from manila_lite.db import models
from manila_lite.db.core import key_values
from manila_lite.db.core.rows import deleter, get_row, group_rows, updater

_subnets = models.share_network_subnets
_networks = models.share_networks
_zones = models.availability_zones
_mappings = models.share_server_share_network_subnet_mappings
_metadata = models.share_network_subnet_metadata
_servers = models.share_servers
_addresses = models.network_allocations
_operations = models.operations

#: What users see as the ids of network and subnet: the ids that they gave, if the subnet is in a default network.
SHOWN = {
    f'neutron_{of}_id': sa.case(
        (_subnets.c.in_default_network, _subnets.c[f'wanted_{of}_id']), else_=_subnets.c[f'neutron_{of}_id']
    )
    for of in ('net', 'subnet')
}


def select() -> sa.Select[Any]:
    """Return the SELECT of subnet rows, each with the name of its zone and its network."""
    return (
        sa.select(
            *_subnets.c,
            _zones.c.name.label('availability_zone'),
            _networks.c.name.label('share_network_name'),
        )
        .join(_networks, _networks.c.id == _subnets.c.share_network_id)
        .outerjoin(_zones, _zones.c.id == _subnets.c.availability_zone_id)
    )


def get(conn: Connection, network_id: str, subnet_id: str) -> Row[Any]:
    """Return a subnet of the network that is not deleted for its owner.

    :raises errors.NotFound: the network has none of that id.
    """
    query = select().where(
        _subnets.c.id == subnet_id, _subnets.c.share_network_id == network_id, ~_subnets.c.deletion_deferred
    )
    return get_row(conn, query, 'share network subnet', subnet_id)


def of_networks(conn: Connection, network_ids: Iterable[str]) -> dict[str, list[Row[Any]]]:
    """Return the subnets of networks by network id, oldest first; without those that are deleted for their owner."""
    query = select().where(_subnets.c.share_network_id.in_(tuple(network_ids)), ~_subnets.c.deletion_deferred)
    return group_rows(conn.execute(query.order_by(_subnets.c.created_at, _subnets.c.id)), 'share_network_id')


def of_network(conn: Connection, network_id: str) -> list[Row[Any]]:
    """Return the subnets of a network, oldest first."""
    return of_networks(conn, (network_id,)).get(network_id, [])


def insert(conn: Connection, values: dict[str, Any], metadata: dict[str, str]) -> None:
    """Insert the subnet and its metadata."""
    conn.execute(_subnets.insert().values(**values))
    key_values.insert(conn, _metadata, values['id'], metadata)


def names_network(conn: Connection, subnet_id: str) -> bool:
    """Say whether the subnet is in a network, by its owner's choice or by default."""
    return (
        conn.execute(sa.select(_subnets.c.neutron_subnet_id).where(_subnets.c.id == subnet_id)).scalar()
        is not None
    )


def owner_of_unnamed(conn: Connection, network_id: str) -> str | None:
    """Return the project of the share network if one of its subnets is in no network, or None."""
    return conn.execute(
        sa.select(_networks.c.project_id)
        .join(_subnets, _subnets.c.share_network_id == _networks.c.id)
        .where(
            _networks.c.id == network_id,
            _subnets.c.neutron_subnet_id.is_(None),
            ~_subnets.c.deletion_deferred,
        )
        .limit(1)
    ).scalar()


#: Set these values of the subnet.
update = updater(_subnets)


def put_into_network(conn: Connection, subnet_id: str, values: dict[str, Any]) -> None:
    """Set the place of a subnet that is in no network yet; another worker may have done so."""
    conn.execute(
        _subnets.update()
        .where(_subnets.c.id == subnet_id, _subnets.c.neutron_subnet_id.is_(None))
        .values(**values)
    )


#: Delete the subnet, which no server is in, with its metadata.
delete = deleter(_subnets)


def delete_for_owner(conn: Connection, subnet_id: str) -> None:
    """Delete the subnet for its owner. Its row is deleted with the last of its servers."""
    conn.execute(_subnets.update().where(_subnets.c.id == subnet_id).values(deletion_deferred=True))


def delete_if_without_servers(conn: Connection, network_id: str) -> None:
    """Delete the rows of the network's subnets that are deleted for their owner and have no servers any more."""
    conn.execute(
        _subnets.delete().where(
            _subnets.c.share_network_id == network_id,
            _subnets.c.deletion_deferred,
            ~sa.exists().where(_mappings.c.share_network_subnet_id == _subnets.c.id),
        )
    )


def count_servers(conn: Connection, subnet_ids: Iterable[str]) -> int:
    """Return how many share servers are in any of the subnets."""
    return conn.execute(
        sa.select(sa.func.count(_mappings.c.share_server_id.distinct())).where(
            _mappings.c.share_network_subnet_id.in_(tuple(subnet_ids))
        )
    ).scalar_one()


def list_lacking(
    conn: Connection, *, host: str | None = None, server_id: str | None = None, subnet_id: str | None = None
) -> list[Row[Any]]:
    """Return the active servers that should be in a subnet and are not, or have no address in it: each with the subnet's row,
    the server's id, host and whether it ``is_mapped``, and whether any server ``is_held`` in the subnet.

    A server should be in the subnets beside its own, in the same zone, that could not be added to it or are younger than
    it. Servers with an open operation are left out.
    """
    own, own_subnet = _mappings.alias(), _subnets.alias()
    beside = sa.exists().where(
        own.c.share_server_id == _servers.c.id,
        own_subnet.c.id == own.c.share_network_subnet_id,
        own_subnet.c.availability_zone_id.is_not_distinct_from(_subnets.c.availability_zone_id),
    )
    mapped = sa.exists().where(
        _mappings.c.share_server_id == _servers.c.id, _mappings.c.share_network_subnet_id == _subnets.c.id
    )
    anyone = _mappings.alias()
    held = sa.exists().where(anyone.c.share_network_subnet_id == _subnets.c.id)
    address = sa.exists().where(
        _addresses.c.share_server_id == _servers.c.id, _addresses.c.share_network_subnet_id == _subnets.c.id
    )
    query = (
        sa.select(
            *_subnets.c,
            _networks.c.project_id,
            _networks.c.user_id,
            _networks.c.status.label('network_status'),
            _servers.c.id.label('server_id'),
            _servers.c.host,
            mapped.label('is_mapped'),
            held.label('is_held'),
        )
        .join(_networks, _networks.c.id == _subnets.c.share_network_id)
        .join(_servers, _servers.c.share_network_id == _networks.c.id)
        .where(
            _servers.c.status == 'active',
            _subnets.c.neutron_subnet_id.is_not(None),
            ~_subnets.c.deletion_deferred,
            beside,
            sa.or_(
                sa.and_(mapped, ~address),
                sa.and_(
                    ~mapped,
                    _servers.c.network_allocation_update_support,
                    sa.or_(_subnets.c.error.is_not(None), _subnets.c.created_at > _servers.c.created_at),
                ),
            ),
            ~sa.exists().where(_operations.c.resource_id == _servers.c.id, _operations.c.state == 'open'),
        )
        .order_by(_subnets.c.created_at, _subnets.c.id, _servers.c.id)
    )
    for column, value in ((_servers.c.host, host), (_servers.c.id, server_id), (_subnets.c.id, subnet_id)):
        if value is not None:
            query = query.where(column == value)
    return list(conn.execute(query))
