# SPDX-License-Identifier: Apache-2.0
"""Share servers as drivers see them, read for any number of servers in a fixed number of statements."""

from collections.abc import Iterable
from typing import Any

from manila_lite import encryption, values
from manila_lite.db.core import key_values
from manila_lite.db.core.engine import Connection
from manila_lite.db.models import share_network_subnet_metadata, share_server_details
from manila_lite.db.queries import share_server_queries

_OF_SUBNET = (
    'neutron_net_id',
    'neutron_subnet_id',
    'availability_zone',
    'gateway',
    'mtu',
    'network_type',
    'segmentation_id',
)
_OF_SERVICE = ('id', 'type', 'name', 'dns_ip', 'server', 'domain', 'ou', 'user', 'default_ad_site')


def load(conn: Connection, server_ids: Iterable[str]) -> dict[str, values.ShareServer]:
    """Return share servers by id, each with its subnets in the order in which it got them."""
    wanted = tuple(server_ids)
    rows = share_server_queries.list_by_ids(conn, wanted) if wanted else []
    if not rows:
        return {}
    loaded = [row.id for row in rows]
    mapped = share_server_queries.subnets_of(conn, loaded)
    subnets = {subnet.id: subnet for members in mapped.values() for subnet in members}
    metadata = key_values.of_many(conn, share_network_subnet_metadata, subnets)
    details = key_values.of_many(conn, share_server_details, loaded)
    services = share_server_queries.security_services_of(conn, {row.share_network_id for row in rows})
    addresses = share_server_queries.allocations_of(conn, loaded)
    return {
        row.id: values.ShareServer(
            id=row.id,
            share_network_id=row.share_network_id,
            project_id=row.project_id,
            details=details.get(row.id, {}),
            encryption_key_ref=row.encryption_key_ref,
            security_services=tuple(service(used) for used in services.get(row.share_network_id, ())),
            networks=tuple(
                network(subnet, addresses[row.id], metadata.get(subnet.id, {}))
                for subnet in mapped.get(row.id, ())
            ),
            admin_allocations=tuple(
                _allocation(address, None)
                for address in addresses[row.id]
                if address.share_network_subnet_id is None
            ),
        )
        for row in rows
    }


def network(subnet: Any, addresses: Iterable[Any], metadata: dict[str, str]) -> values.ServerNetwork:
    """Return a subnet with those of a server's ``addresses`` that are in it."""
    return values.ServerNetwork(
        subnet_id=subnet.id,
        cidr=subnet.cidr or '',
        ip_version=subnet.ip_version or 4,
        metadata=metadata,
        allocations=tuple(
            _allocation(address, subnet)
            for address in addresses
            if address.share_network_subnet_id == subnet.id
        ),
        **{name: getattr(subnet, name) for name in _OF_SUBNET},
    )


def _allocation(address: Any, subnet: Any) -> values.Allocation:
    return values.Allocation(
        id=address.id,
        ip_address=address.ip_address,
        cidr=address.cidr,
        ip_version=address.ip_version,
        subnet_id=address.share_network_subnet_id,
        gateway=address.gateway,
        mtu=address.mtu,
        network_type=address.network_type,
        segmentation_id=address.segmentation_id,
        neutron_net_id=subnet.neutron_net_id if subnet is not None else None,
        mac_address=address.mac_address,
    )


def service(row: Any) -> values.SecurityService:
    """Return a security service's row as drivers see it.

    :raises errors.Unavailable: the key of its password is not configured here.
    """
    known = {name: getattr(row, name) for name in _OF_SERVICE}
    return values.SecurityService(password=encryption.decrypt(row.password), **known)
