# SPDX-License-Identifier: Apache-2.0
"""A share server's copy gets its addresses at the cut-over: clients find the shares where they were.

The server gets others in their place, and runs with these before the destination takes the former ones: no two machines have an
address at the same time. Then the copy's own are freed. There is no way back, and everything can be repeated.
"""

import collections
import dataclasses
from collections.abc import Collection

from oslo_log import log

from manila_lite import errors, values
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import allocations, operations, share_server_migration, share_server_queries
from manila_lite.engine import FAST, Work, begin_once
from manila_lite.manager.plans import allocated_addresses
from manila_lite.manager.plans.migration import await_operation
from manila_lite.network import load as plugins
from manila_lite.operation_data.migrations import MigrateServer

LOG = log.getLogger(__name__)


def take(work: Work[MigrateServer], migration: values.ServerMigration) -> values.ShareServer | None:
    """Give the copy the addresses of its source, and wait until the source runs with others. Return the copy as it is to run
    now, or None if both keep their own: they are in different networks, or in subnets without so many addresses.

    :raises errors.Again: the source does not run with others yet.
    :raises errors.Final: its backend failed, or did not begin within ``[operations] lease``. A request to complete the
        migration tells it once more.
    """
    data = work.data
    if not data.takes_addresses:
        return None
    if data.addresses_of_source is None:
        data.addresses_of_source, data.addresses_of_copy = _plan(work, migration)
        raise errors.Again(0.0)  # it is stored before anything follows it
    if data.readdress is None and data.addresses_of_source:
        _allocate_others(work, migration.source.id, data.addresses_of_source)
    if not data.addresses_of_source:
        return None
    if data.readdress is None:
        data.readdress = _begin(work, migration, data.addresses_of_source)
    _await(work, data.readdress)
    allocated_addresses.hand_over(work.ctx.services, plugins.make(work.ctx.conf), migration.target.id)
    return _without(migration.target, data.addresses_of_copy)


def free_own(work: Work[MigrateServer]) -> None:
    """Free the addresses that the copy had for itself, if it has those of its source now."""
    if work.data.addresses_of_source:
        allocated_addresses.free_some(
            work.ctx.services, plugins.make(work.ctx.conf), work.data.addresses_of_copy, work.hold
        )


def _plan(work: Work[MigrateServer], migration: values.ServerMigration) -> tuple[list[str], list[str]]:
    """Return the ids of the addresses of both servers, or none if they have not equally many in each subnet."""
    with work.ctx.db.reader() as conn:
        former, own = (_by_subnet(conn, server.id) for server in (migration.source, migration.target))
    if {name: len(ids) for name, ids in former.items()} != {name: len(ids) for name, ids in own.items()}:
        LOG.warning(
            'Share server %s has not as many addresses as its copy, which keeps its own', migration.source.id
        )
        return [], []
    return [one for ids in former.values() for one in ids], [one for ids in own.values() for one in ids]


def _allocate_others(work: Work[MigrateServer], source: str, taken: Collection[str]) -> None:
    """Allocate as many addresses to the source as the copy has, until it is deleted. Without them both keep their own. May be
    called again: what it has already besides the former ones, which are ``taken``, counts.
    """
    with work.ctx.db.reader() as conn:
        mine, own = _by_subnet(conn, source), allocations.by_ids(conn, work.data.addresses_of_copy)
        subnets = share_server_queries.subnets_of(conn, (source,)).get(source, [])
    plugin = plugins.make(work.ctx.conf)
    try:
        for subnet in subnets:
            count = sum(row.share_network_subnet_id == subnet.id for row in own)
            former = sum(one in taken for one in mine[subnet.id])
            allocated_addresses.allocate(work.ctx.services, plugin, source, subnet, count + former, work.hold)
    except errors.Final as full:
        LOG.warning('Share server %s gets no other addresses, so its copy keeps its own: %s', source, full)
        work.data.addresses_of_source = []


def _by_subnet(conn: Connection, server_id: str) -> dict[str, list[str]]:
    """Return the ids of the server's addresses by subnet, without those in the administrators' network."""
    found = collections.defaultdict(list)
    for row in allocations.of_server(conn, server_id):
        found[row.share_network_subnet_id].append(row.id)
    return found


def _begin(work: Work[MigrateServer], migration: values.ServerMigration, taken: Collection[str]) -> str:
    """Give the copy the addresses that are ``taken``, and tell the source's backend. Return the id of its operation."""
    source = migration.source.id
    key = f'addresses:{source}'
    with work.writer() as conn:
        allocations.set_owner(conn, migration.target.id, taken)
        return begin_once(
            conn,
            work.ctx,
            share_server_migration.READDRESS,
            'share_server',
            source,
            topic='share',
            host=work.data.source_host,
            lane=FAST,
            mutex_key=key,
            unique_key=key,
        ).operation_id


def _await(work: Work[MigrateServer], operation_id: str) -> None:
    """Wait for the source's backend, but if nobody there begins, no longer than a lease."""
    lease = work.ctx.conf.operations.lease
    try:
        await_operation(
            work, operation_id, 'The backend of the share server did not let go of its addresses.'
        )
    except errors.Again:
        with work.ctx.db.reader() as conn:
            if not operations.is_overdue(conn, operation_id, lease):
                raise
        work.data.readdress = None
        raise errors.Final(
            f'The backend of the share server did not let go of its addresses for {lease:.0f} seconds.'
        ) from None
    except errors.Final:
        work.data.readdress = None
        raise


def _without(server: values.ShareServer, allocation_ids: Collection[str]) -> values.ShareServer:
    """Return the server without some of its addresses."""
    return dataclasses.replace(
        server,
        networks=tuple(
            dataclasses.replace(
                network, allocations=tuple(one for one in network.allocations if one.id not in allocation_ids)
            )
            for network in server.networks
        ),
    )
