# SPDX-License-Identifier: Apache-2.0
"""One more subnet for share servers in use: first every backend is asked, then each server gets its addresses in it."""

from typing import Any

from manila_lite import errors, kinds, states
from manila_lite.db import access, pairs, serving, share_networks, shares, transitions
from manila_lite.db.engine import Connection
from manila_lite.db.messages import Action, Detail
from manila_lite.db.models import share_server_details
from manila_lite.drivers.interface import abilities_of
from manila_lite.manager import servers
from manila_lite.manager.serving import load
from manila_lite.manager.task import plain, tell, to_kind
from manila_lite.operations import Plan, Step, Work

# Asking -------------------------------------------------------------------------------------------

def check(work: Work) -> None:
    """Each of the servers named could get the subnet. Nothing has changed.

    :raises errors.Final: one could not; the message says why.
    """
    driver = work.service.driver
    if kinds.Ability.ADD_SUBNET not in abilities_of(driver):
        raise errors.Final(f'Backend {work.service.host} cannot give its share servers another subnet.')
    new = kinds.ServerNetwork(**work.data['network'])
    with work.ctx.db.reader() as conn:
        found = load(conn, work.data['servers'])
        targets = {ident: _targets(conn, found[ident]) for ident in found}
    for ident, server in found.items():
        driver.check_update_server_network(server, new, targets[ident])


def _targets(conn: Connection, server: kinds.ShareServer) -> list[kinds.EnsureTarget]:
    rows = serving.shares_on(conn, server.id)
    rules = access.granted(conn, [row.id for row in rows])
    return [kinds.EnsureTarget(_as_share(row, server, ()), tuple(rules.get(row.id, ()))) for row in rows]


def _as_share(row: Any, server: kinds.ShareServer, exports: Any) -> kinds.Share:
    return to_kind(row, {}, exports, server=server)


def answered(conn: Connection, work: Work) -> None:
    """That the operation is done is the answer: yes."""


def denied(conn: Connection, work: Work, error: Exception) -> None:
    """That the operation failed is the answer: no. Its owner can read why."""
    tell(conn, work, 'SHARE_NETWORK', Action.ADD_SUBNET, Detail.SUBNET_DENIED, error)


# Doing it -----------------------------------------------------------------------------------------

def give_back(work: Work) -> None:
    """The server has no address in the subnet, and is not in it."""
    servers.free(work, work.data['subnet_id'])
    with work.ctx.db.writer() as conn:
        work.hold(conn)
        serving.unmap(conn, work.resource_id, work.data['subnet_id'])


def update(work: Work) -> None:
    """The server serves in the subnet too."""
    with servers.alone(work.resource_id):
        _update(work)


def _update(work: Work) -> None:
    with work.ctx.db.reader() as conn:
        server = servers.found(conn, work)
        rows = serving.shares_on(conn, server.id)
        exports = shares.exports(conn, [row.instance_id for row in rows])
        new = next(network for network in server.networks if network.subnet_id == work.data['subnet_id'])
        known = {row.id: _as_share(row, server, exports.get(row.instance_id, ())) for row in rows}
        taken = [kinds.Snapshot(id=row.id, share=known[row.share_id], size=row.size, provider_location=row.provider_location)
                 for row in serving.snapshots_of(conn, known)]
    result = work.service.driver.update_server_network(server, new, list(known.values()), taken)
    work.data['details'] = dict(result.details)
    work.data['lost'] = dict(result.lost)
    work.data['exports'] = {ident: [plain(location) for location in locations]
                            for ident, locations in result.export_locations.items()}


def updated(conn: Connection, work: Work) -> None:
    """The server is active, its shares have their new export locations; the network is active if this was the last one."""
    share_networks.hold(conn, work.data['network_id'], states.SHARE_NETWORK.statuses)
    on_it = {row.instance_id for row in serving.shares_on(conn, work.resource_id)}
    for ident, locations in work.data['exports'].items():
        if ident in on_it:
            shares.set_exports(conn, ident, [kinds.ExportLocation(**location) for location in locations])
    for ident in on_it & work.data['lost'].keys():
        transitions.rules_status(conn, ident, states.Rules.ERROR)
    if work.data['details']:
        pairs.replace(conn, share_server_details, work.resource_id, work.data['details'])
    transitions.finish(conn, states.SHARE_SERVER, 'change', work.resource_id)
    _settle(conn, work)


def not_updated(conn: Connection, work: Work, error: Exception) -> None:
    """The server is in error and so are the rules of its shares; the network is active when all servers have ended."""
    share_networks.hold(conn, work.data['network_id'], states.SHARE_NETWORK.statuses)
    transitions.fail(conn, states.SHARE_SERVER, 'change', work.resource_id)
    for row in serving.shares_on(conn, work.resource_id):
        transitions.rules_status(conn, row.instance_id, states.Rules.ERROR)
    tell(conn, work, 'SHARE_NETWORK', Action.ADD_SUBNET, Detail.SUBNET_NOT_ADDED, error, resource_id=work.data['network_id'])
    _settle(conn, work)


def _settle(conn: Connection, work: Work) -> None:
    """Behind the hold on the network, so that of two servers that end together the later one sees the other."""
    if not serving.changing(conn, work.data['network_id']):
        transitions.finish(conn, states.SHARE_NETWORK, 'change', work.data['network_id'])


PLANS = [
    Plan('subnet.check', (Step(check),), answered, denied),
    Plan('share_server.add_subnet', (Step(servers.allocate, give_back), Step(update)), updated, not_updated),
]
