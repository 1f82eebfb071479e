# SPDX-License-Identifier: Apache-2.0
"""One more subnet for share servers in use: each gets addresses in it, and serves there too."""

from manila_lite import values
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import allocations, share_server_queries, shares
from manila_lite.db.queries.messages import Action, Detail
from manila_lite.drivers import networks
from manila_lite.engine import Step, Work
from manila_lite.manager.plans import share_server_updates, share_servers
from manila_lite.network import load as plugins
from manila_lite.network.interface import Subnet

#: Fields of a subnet that the network plugin needs to know it again.
_OF_PLUGIN = ('neutron_net_id', 'neutron_subnet_id', 'cidr', 'ip_version', 'gateway', 'mtu', 'network_type',
              'segmentation_id')


def _must_be_usable(work: Work, servers: list[values.ShareServer]) -> None:
    """Refuse a subnet in which no server could serve, or which has too few addresses for all servers that get it."""
    new = values.ServerNetwork(**work.data['network'])
    networks.vet_subnet(new)
    each = work.service.driver.ALLOCATIONS_PER_SUBNET
    with work.ctx.db.reader() as conn:
        taken = allocations.used_addresses(conn, str(new.neutron_subnet_id))
    subnet = Subnet(**{name: work.data['network'][name] for name in _OF_PLUGIN},
                    project_id=next((server.project_id for server in servers), None))
    # A request of the release before does not say how many servers there are at all backends.
    plugins.make(work.ctx.conf).must_have_room(subnet, each * work.data.get('needed', len(servers)), taken=taken)
    work.data['each'] = each


def _ask(work: Work, server: values.ShareServer, targets: list[values.EnsureTarget]) -> None:
    known = {target.share.share_id: target.share for target in targets}
    with work.ctx.db.reader() as conn:
        snapshots = _snapshots(conn, known)
    work.service.driver.check_update_share_server_network_allocations(
        server, values.ServerNetwork(**work.data['network']), targets, snapshots)


def _snapshots(conn: Connection, known: dict[str, values.Share]) -> list[values.Snapshot]:
    """Return the available snapshots of the shares, which are given by their ids."""
    return [values.Snapshot(id=row.id, share=known[row.share_id], size=row.size, provider_location=row.provider_location)
            for row in share_server_queries.snapshots_of(conn, known)]


def give_back(work: Work) -> None:
    """Free the server's addresses in the subnet, and take the server out of the subnet."""
    share_servers.free(work, work.data['subnet_id'])
    with work.ctx.db.writer() as conn:
        work.hold(conn)
        share_server_queries.remove_from_subnet(conn, work.resource_id, work.data['subnet_id'])


def _update(work: Work) -> None:
    with work.ctx.db.reader() as conn:
        server = share_servers.load_server(conn, work)
        rows = share_server_queries.shares_on(conn, server.id)
        exports = shares.export_locations_of(conn, [row.instance_id for row in rows])
        new = next(network for network in server.networks if network.subnet_id == work.data['subnet_id'])
        known = {row.id: share_server_updates.as_share(row, server, exports.get(row.instance_id, ())) for row in rows}
        taken = _snapshots(conn, known)
    update = work.service.driver.update_share_server_network_allocations
    share_server_updates.keep(work, update(server, new, list(known.values()), taken))


PLANS = [
    share_server_updates.question('subnet.check', values.Ability.ADD_SUBNET, 'add another subnet to its share servers', _ask,
                            Action.ADD_SUBNET, Detail.SUBNET_DENIED, _must_be_usable),
    share_server_updates.change('share_server.add_subnet',
                          (Step(share_servers.allocate, give_back), Step(share_server_updates.alone(_update), name='add')),
                          Action.ADD_SUBNET, Detail.SUBNET_NOT_ADDED),
]
