# SPDX-License-Identifier: Apache-2.0
"""Migrations at the source's backend: a share server's access rules and addresses, and the deletion of copies that are left."""

from typing import Any

from manila_lite import errors, states, values
from manila_lite.db.core import transitions
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import (
    access,
    export_locations,
    messages,
    operation_claims,
    operations,
    share_migration,
    share_server_migration,
    share_server_queries,
)
from manila_lite.engine import Plan, Step, Work, nothing
from manila_lite.manager.plans import former_exports, share_servers
from manila_lite.manager.plans.migration import SOON
from manila_lite.manager.plans.share_server_values import load
from manila_lite.manager.plans.task import to_driver_share
from manila_lite.operation_data import OperationData, left_copies
from manila_lite.operation_data.left_copies import Left, ReleaseServer, ReleaseShare
from manila_lite.operation_data.migrations import ApplyServerRules
from manila_lite.workflow import share_server_migration as share_server_migration_workflow
from manila_lite.workflow.verbs import notify

# Access rules of a share server ---------------------------------------------------------------------


def apply_rules(work: Work[ApplyServerRules]) -> None:
    """Bring every share of the server to exactly the rules that it shall have now.

    :raises errors.Again: the former rules of one share are being applied.
    """
    with work.ctx.db.reader() as conn:
        if share_server_migration.is_applying_rules(conn, work.resource_id):
            raise errors.Again(SOON)
        server = share_servers.load_server(conn, work)
        rows = share_server_migration.shares_of(conn, server.id)
        exports = export_locations.of_instances(conn, [row.instance_id for row in rows])
        copy_clients = access.copy_clients_of(conn, [row.id for row in rows])
        wanted = access.rules_in_force(conn, [row.id for row in rows], copy_clients)
    work.data.shut_out = [copy_client.backup_id for copy_client in copy_clients if copy_client.rule is None]
    for row in rows:
        rules = wanted.get(row.id, [])
        results = work.service.driver.update_access(
            to_driver_share(row, {}, exports.get(row.instance_id, ()), server=server), rules
        )
        refused = [results[rule.id].error for rule in rules if rule.id in results and results[rule.id].error]
        if refused or any(rule.id not in results for rule in rules):
            raise errors.ManilaLiteError(f'The backend did not apply all rules of share {row.id}: {refused}')


def applied(conn: Connection, work: Work[ApplyServerRules]) -> None:
    """Record the hosts that were shut out. The rules themselves did not change."""
    if work.data.shut_out:
        access.clear_copy_clients(conn, work.data.shut_out)


def not_applied(conn: Connection, work: Work[Any], error: Exception) -> None:
    """Notify owners whose shares do not have the rules that they should have. A migration that waits for these fails.

    If other rules were asked for during the last try, an operation for these begins.
    """
    operation_claims.move(
        conn, work.op.id, work.op.owner, unique_key=None
    )  # no other request counts on this operation from here on
    op = operations.get(conn, work.op.id)
    if op is not None and op.requested_count > work.asked:
        share_server_migration_workflow.apply_rules(conn, work.ctx, work.resource_id, work.op.host)
        return
    rows = share_server_migration.with_writable_rules(conn, work.resource_id)
    for row in rows:
        transitions.set_rules_status(conn, row.instance_id, states.Rules.ERROR)
    messages.create_many(
        conn,
        work.ctx,
        'SHARE',
        {row.id: row.project_id for row in rows},
        messages.Action.UPDATE_ACCESS_RULES,
        messages.Detail.UNKNOWN_ERROR,
        errors.user_text(error),
    )


# Addresses ------------------------------------------------------------------------------------------


def readdress(work: Work[Any]) -> None:
    """Let the share server run with exactly the addresses that it has now: its own went to its copy."""
    with share_servers.alone(work.resource_id):
        with work.ctx.db.reader() as conn:
            server = share_servers.load_server(conn, work)
        result = work.service.driver.ensure_servers([server])[server.id]
    if result.error:
        raise errors.ManilaLiteError(result.error)


# Copies ---------------------------------------------------------------------------------------------


def delete_share(work: Work[ReleaseShare]) -> None:
    """Delete the share that moved by itself at this backend."""
    server_id = work.data.server
    with work.ctx.db.reader() as conn:
        server = load(conn, (server_id,)).get(server_id) if server_id else None
    _delete(work, [work.data.share], server)


def delete_shares(work: Work[ReleaseServer]) -> None:
    """Delete the shares that moved with their share server at this backend."""
    with work.ctx.db.reader() as conn:
        server = share_servers.load_server(conn, work)
    _delete(work, work.data.shares, server)


def _delete(work: Work[Left], shares_there: list[values.Share], server: values.ShareServer | None) -> None:
    """Delete the shares, which are on the server, and the snapshots that moved with them. One share has them all."""
    moved = left_copies.on(shares_there, server)
    for snapshot in work.data.snapshots:
        share = moved[snapshot.share or shares_there[0].id]
        work.service.driver.delete_snapshot(snapshot.of(share))
    for share in moved.values():
        work.service.driver.delete_share(share)


def deleted(conn: Connection, work: Work[ReleaseShare]) -> None:
    """Delete the second instance of a share. The next report no longer counts its capacity."""
    former_exports.source_is_gone(
        conn, work, lambda conn, moved: share_migration.moves_on(conn, moved, work.data.instance)
    )
    transitions.remove(conn, states.SHARE, (work.data.instance,), states.SHARE['delete'].during)
    if work.data.server:
        share_server_queries.update(conn, work.data.server)
    work.service.report_soon()


def server_deleted(conn: Connection, work: Work[ReleaseServer]) -> None:
    """Delete the row of the share server that moved away."""
    share_servers.removed(conn, work)
    former_exports.source_is_gone(conn, work, share_server_migration.moves_on)


def not_deleted(conn: Connection, work: Work[ReleaseShare], error: Exception) -> None:
    """Set the second instance to error, so that it can be deleted again. The share is not affected."""
    transitions.fail(conn, states.SHARE, 'delete', work.data.instance)
    notify(conn, work, 'SHARE', messages.Action.MIGRATE_SHARE, messages.Detail.UNKNOWN_ERROR, error)


PLANS: list[Plan[Any]] = [
    Plan(share_server_migration.RULES, (Step(apply_rules),), applied, not_applied, data=ApplyServerRules),
    Plan(share_server_migration.READDRESS, (Step(readdress),), nothing, nothing, data=OperationData),
    Plan(
        share_server_migration.RELEASE,
        (
            Step(delete_shares, name='delete_moved'),
            Step(share_servers.teardown),
            Step(share_servers.free, name='deallocate'),
        ),
        server_deleted,
        share_servers.not_removed,
        data=ReleaseServer,
    ),
    Plan(
        share_migration.RELEASE,
        (Step(delete_share, name='delete_moved'),),
        deleted,
        not_deleted,
        data=ReleaseShare,
    ),
]
