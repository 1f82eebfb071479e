# SPDX-License-Identifier: Apache-2.0
"""Common parts of changes of share servers in use. First every backend is asked, then each server is changed."""

import functools
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from manila_lite import errors, states, values
from manila_lite.db.core import key_values, transitions
from manila_lite.db.core.engine import Connection
from manila_lite.db.models import share_server_details
from manila_lite.db.queries import (
    access,
    export_locations,
    operation_claims,
    share_networks,
    share_server_queries,
    shares,
)
from manila_lite.db.queries import snapshot_access as snapshot_access_queries
from manila_lite.db.queries.messages import Action, Detail
from manila_lite.drivers.interface import abilities_of
from manila_lite.engine import Plan, Step, Work
from manila_lite.manager.plans import share_servers
from manila_lite.manager.plans.share_server_values import load
from manila_lite.manager.plans.task import to_driver_share
from manila_lite.operation_data.share_servers import ChangeServer, CheckServers
from manila_lite.workflow import access as access_workflow
from manila_lite.workflow import snapshot_access
from manila_lite.workflow.verbs import notify

Question = TypeVar('Question', bound=CheckServers)
Change = TypeVar('Change', bound=ChangeServer)
#: Asks the driver about one server with its shares.
Ask = Callable[[Work[Question], values.ShareServer, list[values.EnsureTarget]], None]
#: Checks what concerns all servers of the question.
Before = Callable[[Work[Question], list[values.ShareServer]], None]


def question(
    kind: str,
    data: type[Question],
    ability: values.Ability,
    cannot: str,
    ask: Ask[Question],
    action: Action,
    detail: Detail,
    before: Before[Question] | None = None,
) -> Plan[Question]:
    """Return the plan that asks a backend about some of its servers: done means yes, failed means no.

    ``cannot``: the end of the message for a backend without the ability. ``before`` runs before the driver is asked.
    """

    def check(work: Work[Question]) -> None:
        if ability not in abilities_of(work.service.driver):
            raise errors.Final(f'The backend of the share servers cannot {cannot}.')
        with work.ctx.db.reader() as conn:
            servers = load(conn, work.data.servers)
            shares_by_server = {server_id: targets(conn, servers[server_id]) for server_id in servers}
        if before is not None:
            before(work, list(servers.values()))
        for server_id, server in servers.items():
            ask(work, server, shares_by_server[server_id])

    def denied(conn: Connection, work: Work[Any], error: Exception) -> None:
        notify(conn, work, 'SHARE_NETWORK', action, detail, error)

    return Plan(kind, (Step(check),), answered, denied, data=data)


def answered(conn: Connection, work: Work[Any]) -> None:
    """Store the data of the answer; the end of the operation as done means yes."""
    operation_claims.move(conn, work.op.id, work.op.owner, data=work.data.to_json())


def targets(conn: Connection, server: values.ShareServer) -> list[values.EnsureTarget]:
    """Return the shares of a server with their rules."""
    rows = share_server_queries.shares_on(conn, server.id)
    rules = access.rules_in_force(conn, [row.id for row in rows])
    return [values.EnsureTarget(as_share(row, server, ()), tuple(rules.get(row.id, ()))) for row in rows]


def as_share(row: Any, server: values.ShareServer, exports: Iterable[Any]) -> values.Share:
    """Return a share of the server as drivers see it."""
    return to_driver_share(row, {}, exports, server=server)


def change(
    kind: str, data: type[Change], steps: tuple[Step[Change], ...], action: Action, detail: Detail
) -> Plan[Change]:
    """Return the plan that changes one server. Its last step calls ``keep`` with the driver's result."""

    def failed(conn: Connection, work: Work[Change], error: Exception) -> None:
        share_networks.lock(conn, work.data.network_id, states.SHARE_NETWORK.statuses)
        condemn(conn, work)
        notify(conn, work, 'SHARE_NETWORK', action, detail, error, resource_id=work.data.network_id)
        settle(conn, work)

    return Plan(kind, steps, changed, failed, data=data)


def condemn(conn: Connection, work: Work[Any]) -> None:
    """Set the server to error, and the rules of its shares: nobody knows whom it serves."""
    for row in share_server_queries.shares_on(conn, work.resource_id):
        transitions.set_rules_status(conn, row.instance_id, states.Rules.ERROR)
    transitions.fail(conn, states.SHARE_SERVER, 'change', work.resource_id)


def alone(do: Callable[[Work[Change]], None]) -> Callable[[Work[Change]], None]:
    """Return ``do`` as a step that runs while no other driver call for the server runs."""

    @functools.wraps(do)
    def step(work: Work[Change]) -> None:
        with share_servers.alone(work.resource_id):
            do(work)

    return step


def keep(work: Work[ChangeServer], result: values.ServerUpdate) -> None:
    """Keep the driver's result, to be stored when the operation ends."""
    work.data.details, work.data.lost, work.data.pools = (
        dict(result.details),
        dict(result.lost),
        dict(result.pools),
    )
    work.data.exports = {
        instance_id: list(locations) for instance_id, locations in result.export_locations.items()
    }
    work.data.snapshot_exports = {
        snapshot_id: list(locations) for snapshot_id, locations in result.snapshot_export_locations.items()
    }


def changed(conn: Connection, work: Work[ChangeServer]) -> None:
    """Set the server to active, and store the places of its shares and snapshots. The network is active after its last
    server.
    """
    share_networks.lock(conn, work.data.network_id, states.SHARE_NETWORK.statuses)
    served = share_server_queries.shares_on(conn, work.resource_id)
    instance_ids = {row.instance_id for row in served}
    export_locations.set_of_instances(
        conn,
        {
            instance_id: locations
            for instance_id, locations in work.data.exports.items()
            if instance_id in instance_ids
        },
    )
    for instance_id in instance_ids & work.data.lost.keys():
        transitions.set_rules_status(conn, instance_id, states.Rules.ERROR)
    shares.set_pools(
        conn,
        work.op.host,
        {instance_id: pool for instance_id, pool in work.data.pools.items() if instance_id in instance_ids},
    )
    _store_snapshots(conn, work, [row.id for row in served])
    if work.data.details:
        key_values.replace(conn, share_server_details, work.resource_id, work.data.details)
    transitions.finish(conn, states.SHARE_SERVER, 'change', work.resource_id)
    settle(conn, work)


def _store_snapshots(conn: Connection, work: Work[ChangeServer], share_ids: list[str]) -> None:
    """Store the export locations of snapshots that the driver reported, and have the others exported anew."""
    mountable = set(snapshot_access_queries.list_mountable(conn, share_ids))
    reported = {
        snapshot_id: locations
        for snapshot_id, locations in work.data.snapshot_exports.items()
        if snapshot_id in mountable
    }
    snapshot_access_queries.set_export_locations_of(conn, reported)
    for snapshot_id in sorted(mountable - reported.keys()):
        snapshot_access.begin(conn, work.ctx, snapshot_id, work.op.host)


def settle(conn: Connection, work: Work[ChangeServer]) -> None:
    """End the network's change if no server changes any more. The caller holds the network, so that the later one of
    two servers that end together sees the other.
    """
    if not share_server_queries.is_any_changing(conn, work.data.network_id):
        transitions.finish(conn, states.SHARE_NETWORK, 'change', work.data.network_id)


def heal(conn: Connection, work: Work[Any], server_ids: Iterable[str]) -> None:
    """Set servers that are restored to active, whatever put them in error, and have their shares' rules applied again."""
    for server in share_server_queries.list_by_ids(conn, server_ids):
        if server.status in states.SHARE_SERVER.transient or not share_server_queries.is_served(
            conn, server.id
        ):
            continue
        transitions.settle(
            conn, states.SHARE_SERVER, (server.id,), server.status, str(states.SHARE_SERVER['change'].ok)
        )
        share_ids = [row.id for row in share_server_queries.shares_on(conn, server.id)]
        access_workflow.apply_rules_of(conn, work.ctx, share_ids, work.op.host)
