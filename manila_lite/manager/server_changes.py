# SPDX-License-Identifier: Apache-2.0
"""Common parts of changes of share servers in use. First every backend is asked, then each server is changed."""

from collections.abc import Callable, Iterable
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
from manila_lite.operations import Plan, Step, Work, snapshot_serving

#: Asks the driver about one server with its shares.
Ask = Callable[[Work, kinds.ShareServer, list[kinds.EnsureTarget]], None]


def question(kind: str, ability: kinds.Ability, cannot: str, ask: Ask, action: Action, detail: Detail) -> Plan:
    """Return the plan that asks a backend about some of its servers: done means yes, failed means no.

    ``cannot``: the end of the message for a backend without the ability.
    """
    def check(work: Work) -> None:
        if ability not in abilities_of(work.service.driver):
            raise errors.Final(f'Backend {work.service.host} cannot {cannot}.')
        with work.ctx.db.reader() as conn:
            found = load(conn, work.data['servers'])
            on_them = {ident: targets(conn, found[ident]) for ident in found}
        for ident, server in found.items():
            ask(work, server, on_them[ident])

    def denied(conn: Connection, work: Work, error: Exception) -> None:
        tell(conn, work, 'SHARE_NETWORK', action, detail, error)

    return Plan(kind, (Step(check),), answered, denied)


def answered(conn: Connection, work: Work) -> None:
    """Do nothing: the end of the operation as done is the answer."""


def targets(conn: Connection, server: kinds.ShareServer) -> list[kinds.EnsureTarget]:
    """Return the shares of a server with their rules."""
    rows = serving.shares_on(conn, server.id)
    rules = access.in_force(conn, [row.id for row in rows])
    return [kinds.EnsureTarget(as_share(row, server, ()), tuple(rules.get(row.id, ()))) for row in rows]


def as_share(row: Any, server: kinds.ShareServer, exports: Iterable[Any]) -> kinds.Share:
    """Return a share of the server as drivers see it."""
    return to_kind(row, {}, exports, server=server)


def change(kind: str, steps: tuple[Step, ...], action: Action, detail: Detail) -> Plan:
    """Return the plan that changes one server. Its last step calls ``keep`` with the driver's result."""
    def failed(conn: Connection, work: Work, error: Exception) -> None:
        share_networks.hold(conn, work.data['network_id'], states.SHARE_NETWORK.statuses)
        transitions.fail(conn, states.SHARE_SERVER, 'change', work.resource_id)
        for row in serving.shares_on(conn, work.resource_id):
            transitions.rules_status(conn, row.instance_id, states.Rules.ERROR)
        tell(conn, work, 'SHARE_NETWORK', action, detail, error, resource_id=work.data['network_id'])
        _settle(conn, work)

    return Plan(kind, steps, changed, failed)


def alone(do: Callable[[Work], None]) -> Callable[[Work], None]:
    """Return ``do`` as a step that runs while no other driver call for the server runs."""
    def step(work: Work) -> None:
        with servers.alone(work.resource_id):
            do(work)
    return step


def keep(work: Work, result: kinds.ServerUpdate) -> None:
    """Keep the driver's result, to be stored when the operation ends."""
    work.data['details'] = dict(result.details)
    work.data['lost'] = dict(result.lost)
    work.data['exports'] = {ident: [plain(location) for location in locations]
                            for ident, locations in result.export_locations.items()}


def changed(conn: Connection, work: Work) -> None:
    """Set the server to active, and store its shares' export locations. The network is active after its last server."""
    share_networks.hold(conn, work.data['network_id'], states.SHARE_NETWORK.statuses)
    on_it = {row.instance_id for row in serving.shares_on(conn, work.resource_id)}
    shares.set_exports_of(conn, {ident: [kinds.ExportLocation(**location) for location in locations]
                                 for ident, locations in work.data['exports'].items() if ident in on_it})
    for ident in on_it & work.data['lost'].keys():
        transitions.rules_status(conn, ident, states.Rules.ERROR)
    snapshot_serving.begin_all(conn, work.ctx, [row.id for row in serving.shares_on(conn, work.resource_id)], work.op.host)
    if work.data['details']:
        pairs.replace(conn, share_server_details, work.resource_id, work.data['details'])
    transitions.finish(conn, states.SHARE_SERVER, 'change', work.resource_id)
    _settle(conn, work)


def _settle(conn: Connection, work: Work) -> None:
    """End the network's change if no server changes any more. The caller holds the network, so that the later one of
    two servers that end together sees the other.
    """
    if not serving.changing(conn, work.data['network_id']):
        transitions.finish(conn, states.SHARE_NETWORK, 'change', work.data['network_id'])
