# SPDX-License-Identifier: Apache-2.0
"""One more subnet for share servers in use: each gets addresses in it, and serves there too."""

from manila_lite import kinds
from manila_lite.db import serving, shares
from manila_lite.db.messages import Action, Detail
from manila_lite.manager import server_changes, servers
from manila_lite.operations import Step, Work


def _ask(work: Work, server: kinds.ShareServer, targets: list[kinds.EnsureTarget]) -> None:
    new = kinds.ServerNetwork(**work.data['network'])
    work.service.driver.check_update_share_server_network_allocations(server, new, targets)


def give_back(work: Work) -> None:
    """Free the server's addresses in the subnet, and take the server out of the subnet."""
    servers.free(work, work.data['subnet_id'])
    with work.ctx.db.writer() as conn:
        work.hold(conn)
        serving.unmap(conn, work.resource_id, work.data['subnet_id'])


def _update(work: Work) -> None:
    with work.ctx.db.reader() as conn:
        server = servers.found(conn, work)
        rows = serving.shares_on(conn, server.id)
        exports = shares.exports(conn, [row.instance_id for row in rows])
        new = next(network for network in server.networks if network.subnet_id == work.data['subnet_id'])
        known = {row.id: server_changes.as_share(row, server, exports.get(row.instance_id, ())) for row in rows}
        taken = [kinds.Snapshot(id=row.id, share=known[row.share_id], size=row.size, provider_location=row.provider_location)
                 for row in serving.snapshots_of(conn, known)]
    update = work.service.driver.update_share_server_network_allocations
    server_changes.keep(work, update(server, new, list(known.values()), taken))


PLANS = [
    server_changes.question('subnet.check', kinds.Ability.ADD_SUBNET, 'give its share servers another subnet', _ask,
                            Action.ADD_SUBNET, Detail.SUBNET_DENIED),
    server_changes.change('share_server.add_subnet',
                          (Step(servers.allocate, give_back), Step(server_changes.alone(_update))),
                          Action.ADD_SUBNET, Detail.SUBNET_NOT_ADDED),
]
