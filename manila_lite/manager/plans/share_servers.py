# SPDX-License-Identifier: Apache-2.0
"""Share servers: each share in a share network has one. They are created on demand, and deleted when unused."""

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

from oslo_concurrency import lockutils
from oslo_log import log
from oslo_utils import uuidutils

from manila_lite import engine, errors, states, values
from manila_lite.db.core import key_values, transitions
from manila_lite.db.core.engine import Connection
from manila_lite.db.models import share_server_details
from manila_lite.db.queries import (
    share_network_subnets,
    share_networks,
    share_server_capabilities,
    share_server_queries,
    share_servers,
    shares,
)
from manila_lite.db.queries.messages import Action, Detail
from manila_lite.drivers.interface import CAPABILITIES
from manila_lite.engine import Plan, Step, Work
from manila_lite.host import clock
from manila_lite.manager.plans import admin_network, allocated_addresses
from manila_lite.manager.plans.share_server_values import load
from manila_lite.network import load as plugins
from manila_lite.operation_data import OperationData
from manila_lite.operation_data.share_servers import CreateServer
from manila_lite.workflow.verbs import notify, share_row

LOG = log.getLogger(__name__)

#: Seconds between looks whether a share's server is ready, or its network has settled.
_SOON = 0.5
#: Seconds until a network plugin that could not be reached is asked again.
_PLUGIN_AWAY = 5.0
_SEVERAL = CAPABILITIES[values.Ability.SEVERAL_SUBNETS]


# Finding a server for a share ---------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class ServerRequest:
    """A resource that needs a server, as functions of its row: its zone id, its size in GiB, and how to store it."""

    zone: Callable[[Connection, Any], str | None]
    size: Callable[[Any], int]
    put: Callable[[Connection, Any, str], None]


def _of_share(conn: Connection, row: Any, server_id: str) -> None:
    shares.update_instance(conn, row.instance_id, share_server_id=server_id)


_SHARE = ServerRequest(
    lambda conn, row: share_server_queries.zone_of(conn, row.instance_id),
    lambda row: int(row.size),
    _of_share,
)


def serve(
    work: Work[Any], read: Callable[[Connection, Work[Any]], Any] = share_row, request: ServerRequest = _SHARE
) -> values.ShareServer:
    """Give the share a running share server of its network. Return the server. ``read`` returns the share's row.

    Several shares that come at once get the same server, as far as ``max_shares_per_share_server`` and
    ``max_share_server_size`` allow. No lock is held while the backend creates it: the share looks again later.

    :raises errors.Again: the server is being created, or the network is changing.
    :raises errors.Final: the network has no subnet here, or its server could not be created.
    """
    with work.writer() as conn:
        row = read(conn, work)
        server_id = row.share_server_id or _find_or_make(conn, work, row, request)
        server = share_servers.get(conn, server_id) if server_id else None
        ready = load(conn, (server.id,)) if server is not None and server.status == 'active' else {}
        inside = (
            share_server_queries.subnets_of(conn, (server.id,)).get(server.id, ())
            if server and not ready
            else ()
        )
    if server is None or server.status in states.SHARE_SERVER.transient:
        raise errors.Again(_SOON)
    if server.status != 'active':
        nowhere = any(subnet.neutron_subnet_id is None for subnet in inside)
        raise errors.Final(
            'The share server of the share could not be created'
            + (': its subnet names no network.' if nowhere else '.'),
            detail='NO_SHARE_SERVER',
        )
    return ready[server.id]


def _find_or_make(conn: Connection, work: Work[Any], row: Any, request: ServerRequest) -> str | None:
    if not share_networks.lock(conn, row.share_network_id, ('active',)):
        return None
    manager = work.service
    zone_id = request.zone(conn, row)
    subnets = share_server_queries.subnets_for(conn, row.share_network_id, zone_id)
    if len(subnets) > 1 and not share_server_capabilities.reported(conn, manager.host)[_SEVERAL]:
        subnets = subnets[:1]
    if not subnets:
        raise errors.Final(
            'The share network has no subnet in the zone of the backend.', detail='NO_SHARE_SERVER'
        )
    subnet_ids = [subnet.id for subnet in subnets]
    key = share_server_queries.encryption_key_for(conn, row)
    server_id = share_server_queries.find_with_capacity(
        conn,
        manager.host,
        row.share_network_id,
        subnet_ids,
        request.size(row),
        most_shares=manager.section.max_shares_per_share_server,
        most_gb=manager.section.max_share_server_size,
        key=key,
    )
    if server_id is None:
        server_id = _begin(conn, work, row.share_network_id, subnet_ids, key)
    request.put(conn, row, server_id)
    return server_id


def _begin(conn: Connection, work: Work[Any], network_id: str, subnet_ids: list[str], key: str | None) -> str:
    server_id = uuidutils.generate_uuid()
    share_servers.insert(
        conn,
        {
            'id': server_id,
            'share_network_id': network_id,
            'host': work.service.host,
            'identifier': server_id,
            'encryption_key_ref': key,
            **share_server_capabilities.reported(conn, work.service.host),
        },
        subnet_ids,
    )
    engine.begin(
        conn,
        work.ctx,
        'share_server.create',
        'share_server',
        server_id,
        topic='share',
        host=work.service.host,
        mutex_key=f'server:{server_id}',
        unique_key=f'server:{server_id}',
        data=CreateServer(share_id=work.resource_id),
    )
    return server_id


# Creating -----------------------------------------------------------------------------------------


def allocate(work: Work[Any]) -> None:
    """Give the server the addresses that it needs in each of its subnets."""
    with work.ctx.db.reader() as conn:
        subnets = share_server_queries.subnets_of(conn, (work.resource_id,)).get(work.resource_id, [])
    plugin = plugins.make(work.ctx.conf)
    with _patience(work):
        for subnet in subnets:
            allocated_addresses.allocate(
                work.ctx.services,
                plugin,
                work.resource_id,
                subnet,
                work.service.driver.ALLOCATIONS_PER_SUBNET,
                work.hold,
            )


def allocate_all(work: Work[CreateServer]) -> None:
    """Give the server the addresses that it needs in each of its subnets, and in the administrators' network.

    From then on the backend may use them.
    """
    allocate(work)
    with _patience(work):
        admin_network.allocate(work)
    work.data.in_use = True


def give_back(work: Work[CreateServer]) -> None:
    """Free all addresses of the server, unless the backend may still use them: nobody else must get them."""
    if not work.data.in_use:
        free(work)


def free(work: Work[Any], subnet_id: str | None = None) -> None:
    """Free all addresses of the server, or only those in that subnet."""
    with _patience(work):
        if subnet_id is None:
            admin_network.free(work)
        allocated_addresses.free(
            work.ctx.services, plugins.make(work.ctx.conf), work.resource_id, subnet_id, work.hold
        )


@contextlib.contextmanager
def _patience(work: Work[Any]) -> Iterator[None]:
    """Try again later if the network plugin is unavailable, as long as ``[network] patience`` allows."""
    try:
        yield
    except errors.Unavailable as away:
        if (clock.without_jumps() - work.op.created_at).total_seconds() > work.ctx.conf.network.patience:
            raise
        LOG.warning('%s: %s waits for the network plugin: %s', work.resource_id, work.op.kind, away)
        raise errors.Again(_PLUGIN_AWAY, str(away)) from away


def load_server(conn: Connection, work: Work[Any]) -> values.ShareServer:
    """Return the share server of the operation.

    :raises errors.Final: it is gone.
    """
    server = load(conn, (work.resource_id,)).get(work.resource_id)
    if server is None:
        raise errors.Final(f'Share server {work.resource_id} is gone.')
    return server


def load_here(work: Work[Any]) -> values.ShareServer:
    """Do as ``load_server`` in a transaction of its own."""
    with work.ctx.db.reader() as conn:
        return load_server(conn, work)


def alone(server_id: str) -> Any:
    """Return a lock for driver calls on that server. Only this process works at the server's backend."""
    return lockutils.lock(f'share-server-{server_id}')


def configure(work: Work[CreateServer]) -> None:
    """Set the server up at the backend."""
    with alone(work.resource_id):
        work.data.details = dict(work.service.driver.setup_server(load_here(work)))


def teardown(work: Work[Any]) -> None:
    """Remove the server at the backend."""
    with alone(work.resource_id):
        work.service.driver.teardown_server(load_here(work))


def take_down(work: Work[CreateServer]) -> None:
    """Remove the server, or its half-made parts, at the backend."""
    teardown(work)
    work.data.in_use = False


def made(conn: Connection, work: Work[CreateServer]) -> None:
    """Set the server to active, and store the driver's details of it."""
    key_values.replace(conn, share_server_details, work.resource_id, work.data.details)
    transitions.finish(conn, states.SHARE_SERVER, 'create', work.resource_id)


def not_made(conn: Connection, work: Work[CreateServer], error: Exception) -> None:
    """Set the server to error, and tell the owner of the share why. Shares that wait for the server fail themselves."""
    transitions.fail(conn, states.SHARE_SERVER, 'create', work.resource_id)
    notify(conn, work, 'SHARE', Action.CREATE, Detail.NO_SHARE_SERVER, error, resource_id=work.data.share_id)


# Deleting -----------------------------------------------------------------------------------------


def removed(conn: Connection, work: Work[Any], verb: str = 'delete') -> None:
    """Delete the server's row, unless an administrator set another status; and its network and subnets, if these are
    deleted.
    """
    rows = share_server_queries.list_by_ids(conn, (work.resource_id,))
    for (
        row
    ) in rows:  # one at most; the last two servers of a network would each take the other one for still there
        share_networks.lock(conn, row.share_network_id, states.SHARE_NETWORK.statuses)
    transitions.finish(conn, states.SHARE_SERVER, verb, work.resource_id)
    for row in rows:
        share_network_subnets.delete_if_without_servers(conn, row.share_network_id)
        share_networks.delete_if_without_servers(conn, row.share_network_id)


def not_removed(conn: Connection, work: Work[Any], error: Exception) -> None:
    """Set the server to error, and tell the user why."""
    transitions.fail(conn, states.SHARE_SERVER, 'delete', work.resource_id)
    notify(conn, work, 'SHARE_SERVER', Action.DELETE, Detail.UNKNOWN_ERROR, error)


PLANS: list[Plan[Any]] = [
    Plan(
        'share_server.create',
        (Step(allocate_all, give_back, 'allocate'), Step(configure, take_down)),
        made,
        not_made,
        data=CreateServer,
    ),
    Plan(
        'share_server.delete',
        (Step(teardown), Step(free, name='deallocate')),
        removed,
        not_removed,
        data=OperationData,
    ),
]
