# SPDX-License-Identifier: Apache-2.0
"""One more subnet for share servers in use: each gets addresses in it, and serves there too.

A server that cannot get it serves on as before. The subnet stays, with the reason as its error, and its owner may delete it
or add it once more.
"""

import dataclasses
from typing import Any

from manila_lite import errors, states, values
from manila_lite.db.core import transitions
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import (
    allocations,
    export_locations,
    share_network_subnets,
    share_networks,
    share_server_queries,
)
from manila_lite.db.queries.messages import Action, Detail
from manila_lite.drivers import networks
from manila_lite.engine import Plan, Step, Work
from manila_lite.manager.plans import share_server_updates, share_servers
from manila_lite.network import load as plugins
from manila_lite.network.interface import Subnet
from manila_lite.operation_data.share_servers import AddSubnet, CheckSubnet
from manila_lite.workflow.verbs import notify

#: Fields of a subnet that the network plugin needs to know it again.
_OF_PLUGIN = (
    'neutron_net_id',
    'neutron_subnet_id',
    'cidr',
    'ip_version',
    'gateway',
    'mtu',
    'network_type',
    'segmentation_id',
)


def _must_be_usable(work: Work[CheckSubnet], servers: list[values.ShareServer]) -> None:
    """Refuse a subnet in which no server could serve, or which has too few addresses for all servers that get it."""
    new = work.data.network
    networks.vet_subnet(new)
    each = work.service.driver.ALLOCATIONS_PER_SUBNET
    with work.ctx.db.reader() as conn:
        taken = allocations.used_addresses(conn, str(new.neutron_subnet_id))
    subnet = Subnet(
        **{name: getattr(new, name) for name in _OF_PLUGIN},
        project_id=next((server.project_id for server in servers), None),
    )
    # A request of the release before does not say how many servers there are at all backends.
    needed = len(servers) if work.data.needed is None else work.data.needed
    plugins.make(work.ctx.conf).must_have_room(subnet, each * needed, taken=taken)
    work.data.each = each


def _ask(work: Work[CheckSubnet], server: values.ShareServer, targets: list[values.EnsureTarget]) -> None:
    known = {target.share.share_id: target.share for target in targets}
    with work.ctx.db.reader() as conn:
        snapshots = _snapshots(conn, known)
    work.service.driver.check_update_share_server_network_allocations(
        server, work.data.network, targets, snapshots
    )


def _snapshots(conn: Connection, known: dict[str, values.Share]) -> list[values.Snapshot]:
    """Return the available snapshots of the shares, which are given by their ids."""
    return [
        values.Snapshot(
            id=row.id, share=known[row.share_id], size=row.size, provider_location=row.provider_location
        )
        for row in share_server_queries.snapshots_of(conn, known)
    ]


def allocate(work: Work[AddSubnet]) -> None:
    """Give the server the addresses that it needs in the subnet. From then on the backend may use them."""
    share_servers.allocate(work)
    work.data.in_use = True


def give_back(work: Work[AddSubnet]) -> None:
    """Free the server's addresses in the subnet, and take the server out of the subnet.

    It may run with addresses that were only reserved: a start of the backend brings up each server with all that it has. So
    the backend first restores it. Addresses that the backend may still use are kept: nobody else must get them.
    """
    if _is_unsure(work):
        return
    with work.ctx.db.reader() as conn:
        reserved = allocations.of_server(conn, work.resource_id, work.data.subnet_id)
    if reserved:
        _restore(work)
    else:
        _leave(work)


def _leave(work: Work[AddSubnet]) -> None:
    share_servers.free(work, work.data.subnet_id)
    with work.writer() as conn:
        share_server_queries.remove_from_subnet(conn, work.resource_id, work.data.subnet_id)


def _update(work: Work[AddSubnet]) -> None:
    with work.ctx.db.reader() as conn:
        server = share_servers.load_server(conn, work)
        rows = share_server_queries.shares_on(conn, server.id)
        exports = export_locations.of_instances(conn, [row.instance_id for row in rows])
        new = next(network for network in server.networks if network.subnet_id == work.data.subnet_id)
        known = {
            row.id: share_server_updates.as_share(row, server, exports.get(row.instance_id, ()))
            for row in rows
        }
        taken = _snapshots(conn, known)
    update = work.service.driver.update_share_server_network_allocations
    share_server_updates.keep(work, update(server, new, list(known.values()), taken))


def _restore(work: Work[AddSubnet]) -> None:
    """Have the backend run the server with the addresses that it had before, and give those in the subnet back.

    Nothing else calls the driver for this server before both are done: it would give the server the addresses again.

    :raises errors.ManilaLiteError: the backend cannot do it now.
    """
    work.data.in_use = True
    with work.ctx.db.reader() as conn:
        server = share_servers.load_server(conn, work)
    before = tuple(network for network in server.networks if network.subnet_id != work.data.subnet_id)
    result = work.service.driver.ensure_servers([dataclasses.replace(server, networks=before)])[server.id]
    if result.error:
        raise errors.ManilaLiteError(result.error)
    work.data.in_use = False
    _leave(work)


def _is_unsure(work: Work[AddSubnet]) -> bool:
    """Say whether the backend may still use the addresses in the subnet."""
    return work.data.in_use


def _added(conn: Connection, work: Work[AddSubnet]) -> None:
    """End the change as done. The subnet has no error any more, unless other servers lack it still."""
    share_server_updates.changed(conn, work)
    subnet_id = work.data.subnet_id
    if work.data.before and not share_network_subnets.list_lacking(conn, subnet_id=subnet_id):
        share_network_subnets.update(conn, subnet_id, error=None)


def _not_added(conn: Connection, work: Work[AddSubnet], error: Exception) -> None:
    """Tell the owner why, and set the server back to active, or to error if the backend could not restore it."""
    network_id = work.data.network_id
    share_networks.lock(conn, network_id, states.SHARE_NETWORK.statuses)
    text = errors.user_text(error) or Detail.SUBNET_NOT_ADDED.value[1]
    share_network_subnets.update(conn, work.data.subnet_id, error=text)
    if _is_unsure(work):
        share_server_updates.condemn(conn, work)
    else:
        transitions.finish(conn, states.SHARE_SERVER, 'change', work.resource_id)
    if work.data.before != text:  # a repair that failed like the change before it is no news
        notify(
            conn,
            work,
            'SHARE_NETWORK',
            Action.ADD_SUBNET,
            Detail.SUBNET_NOT_ADDED,
            error,
            resource_id=network_id,
        )
    share_server_updates.settle(conn, work)


PLANS: list[Plan[Any]] = [
    share_server_updates.question(
        'subnet.check',
        CheckSubnet,
        values.Ability.ADD_SUBNET,
        'add another subnet to its share servers',
        _ask,
        Action.ADD_SUBNET,
        Detail.SUBNET_DENIED,
        _must_be_usable,
    ),
    Plan(
        'share_server.add_subnet',
        (
            Step(allocate, share_server_updates.alone(give_back)),
            Step(share_server_updates.alone(_update), share_server_updates.alone(_restore), name='add'),
        ),
        _added,
        _not_added,
        data=AddSubnet,
    ),
]
