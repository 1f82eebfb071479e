# SPDX-License-Identifier: Apache-2.0
"""Addresses of share servers: the network plugin proposes, the database decides. No lock is held while the plugin works."""

from collections.abc import Callable, Collection
from typing import Any

from oslo_log import log

from manila_lite import context, errors
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import allocations, share_network_subnets, share_server_queries, share_servers
from manila_lite.network.interface import Address, NetworkPlugin
from manila_lite.workflow import network_allocations

LOG = log.getLogger(__name__)

Hold = Callable[[Connection], None]

#: How often other servers may be faster.
_TRIES = 20


def allocate(
    services: context.Services,
    plugin: NetworkPlugin,
    server_id: str,
    subnet: Any,
    count: int,
    hold: Hold | None = None,
) -> list[Any]:
    """Give the server ``count`` addresses in a subnet (its row), including those it has already. Return their rows.

    ``hold`` comes first in each transaction that writes: it fails if another worker took the operation over.

    A subnet that is in no network yet gets its place in the default network.

    :raises errors.Final: the subnet is in no network of the plugin, or has not enough addresses left.
    :raises errors.Again: other servers were faster every time.
    """
    if subnet.neutron_subnet_id is None:
        subnet = _put_into_default(services, plugin, server_id, subnet, hold)
    plugin_subnet = network_allocations.plugin_subnet(subnet, project_of(services, server_id, subnet))
    for _ in range(_TRIES):
        with services.db.reader() as conn:
            rows = allocations.of_server(conn, server_id, subnet.id)
            taken = allocations.used_addresses(conn, plugin_subnet.neutron_subnet_id)
        if len(rows) >= count:
            return rows
        addresses = plugin.allocate(plugin_subnet, count - len(rows), taken=taken, owner=server_id)
        with services.db.writer() as conn:
            if hold:
                hold(conn)
            stored = allocations.store(
                conn, [network_allocations.row_of(server_id, subnet, address) for address in addresses]
            )
        if not stored:
            plugin.free(addresses)
    raise errors.Again(
        1, f'Subnet {plugin_subnet.neutron_subnet_id}: other requests took the free addresses {_TRIES} times.'
    )


def _put_into_default(
    services: context.Services, plugin: NetworkPlugin, server_id: str, subnet: Any, hold: Hold | None
) -> Any:
    """Put a subnet into the default network, and return its new row. It was made before there was such a network."""
    network = plugin.find_default(project_of(services, server_id, subnet))
    if network is None:
        raise errors.Final(
            f'Share network subnet {subnet.id} names no network, so there are no addresses for servers in it.'
        )
    with services.db.writer() as conn:
        if hold:
            hold(conn)
        share_network_subnets.put_into_network(
            conn, subnet.id, network_allocations.network_values(network, wanted=(None, None))
        )
        return share_network_subnets.get(conn, subnet.share_network_id, subnet.id)


def project_of(services: context.Services, server_id: str, subnet: Any) -> str | None:
    """Return the project that owns the addresses of a server in a subnet (its row)."""
    if subnet.id == allocations.ADMIN:
        project: str | None = subnet.project_id
        return project
    with services.db.reader() as conn:
        owner: str = share_servers.get(conn, server_id).project_id
    return owner


def free(
    services: context.Services,
    plugin: NetworkPlugin,
    server_id: str,
    subnet_id: str | None = None,
    hold: Hold | None = None,
) -> None:
    """Free the server's addresses in its share network, or only those in its subnet ``subnet_id``. May be called again.

    A server that moved has given its addresses to another one, and the plugin learns it here at the latest.
    """
    with services.db.reader() as conn:
        rows = allocations.of_server(conn, server_id, subnet_id)
        taken_over = allocations.taken_over(conn, server_id, subnet_id)
        subnets = share_server_queries.subnets_of(conn, (server_id,)).get(server_id, [])
    # The plugin comes first: an address that is freed there and still has a row is freed once more, so none leaks.
    plugin.free(map(_address, rows))
    for row in taken_over:
        plugin.hand_over((_address(row),), owner=row.share_server_id)
    _forget(plugin, server_id, subnet_id, subnets)
    with services.db.writer() as conn:
        if hold:
            hold(conn)
        allocations.delete(conn, [row.id for row in rows])


def free_some(
    services: context.Services,
    plugin: NetworkPlugin,
    allocation_ids: Collection[str],
    hold: Hold | None = None,
) -> None:
    """Free these addresses. May be called again."""
    with services.db.reader() as conn:
        rows = allocations.by_ids(conn, allocation_ids)
    plugin.free(map(_address, rows))
    with services.db.writer() as conn:
        if hold:
            hold(conn)
        allocations.delete(conn, allocation_ids)


def hand_over(services: context.Services, plugin: NetworkPlugin, server_id: str) -> None:
    """Have the plugin record that the server has its addresses in its share network, which another one may have had. May be
    called again.
    """
    with services.db.reader() as conn:
        rows = allocations.of_server(conn, server_id)
    plugin.hand_over(map(_address, rows), owner=server_id)


def _address(row: Any) -> Address:
    return Address(row.ip_address, row.mac_address, row.port_id)


def _forget(plugin: NetworkPlugin, server_id: str, subnet_id: str | None, subnets: list[Any]) -> None:
    """Free addresses that the plugin gave to a process that died before it stored them."""
    if subnet_id is None:
        plugin.forget(server_id)
    for subnet in subnets:
        if subnet.id == subnet_id and subnet.neutron_subnet_id:
            plugin.forget(server_id, subnet.neutron_subnet_id)


def free_leftovers(services: context.Services, plugin: NetworkPlugin) -> None:
    """Free everything that the plugin holds for deleted servers: a process that stood still may have asked for it later."""
    # In this order: a server has its row before it has anything else.
    owners = plugin.owners()
    with services.db.reader() as conn:
        gone = share_server_queries.filter_deleted(conn, owners)
    for owner in gone:
        LOG.warning('Share server %s is deleted, but the network plugin still had something for it', owner)
        plugin.forget(owner)
