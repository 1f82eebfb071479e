# SPDX-License-Identifier: Apache-2.0
"""Replicas at their backend: create, update and delete.

The operations on one replica run one after the other. The active replica's backend takes no part in them, and may be down.
"""

import dataclasses
from typing import Any

from oslo_log import log
from oslo_utils import timeutils

from manila_lite import context, errors, states, values
from manila_lite.db.core import transitions
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import (
    access,
    export_locations,
    pool_reports,
    share_migration,
    share_replicas,
    share_server_queries,
    shares,
)
from manila_lite.db.queries.messages import Action, Detail
from manila_lite.engine import Plan, Step, Work, backend_of
from manila_lite.manager.plans import share_servers
from manila_lite.manager.plans.access import hiding
from manila_lite.manager.plans.task import able_driver, as_share
from manila_lite.operation_data.share_replicas import CreateReplica, DeleteReplica, OnReplica, Outcome
from manila_lite.workflow import share_replicas as replica_workflow
from manila_lite.workflow.verbs import notify

LOG = log.getLogger(__name__)

_SHARE = states.SHARE
#: The statuses of snapshots that the active replica holds for certain.
_HELD = (states.SNAPSHOT['create'].ok, states.SNAPSHOT['restore'].during)


# Values for drivers ---------------------------------------------------------------------------------


def present_row(conn: Connection, work: Work[OnReplica]) -> Any:
    """Return the share's row with the replica as its instance.

    :raises errors.Final: there is none, or it is the active one now.
    """
    row = share_replicas.as_share(conn, work.resource_id)
    if row is None:
        raise errors.Final(f'Replica {work.resource_id} is gone, or is the active one.')
    return row


def load(work: Work[OnReplica]) -> values.Replica:
    """Return the replica as drivers see it.

    :raises errors.Final: there is none, or it is the active one now.
    """
    with work.ctx.db.reader() as conn:
        row = present_row(conn, work)
        active = shares.get(conn, work.ctx.elevated(), row.id)
        source = as_share(conn, active)
        state = share_replicas.get(conn, work.ctx.elevated(), work.resource_id).replica_state
        rules = access.granted_rules(conn, (row.id,), cast=False).get(row.id, ())
        snapshots = share_migration.snapshots_of(conn, row.id)
        share = dataclasses.replace(as_share(conn, row), snapshot_id=None)
    held = tuple(
        values.Snapshot(snapshot.id, source, snapshot.size, provider_location=snapshot.provider_location)
        for snapshot in snapshots
        if snapshot.status in _HELD
    )
    left = {*work.data.left, *(snapshot.id for snapshot in snapshots)} - {snapshot.id for snapshot in held}
    return values.Replica(
        share,
        row.replication_type,
        state,
        source,
        backend_of(active.host or ''),
        held,
        tuple(rules),
        tuple(sorted(left)),
    )


def driver_of(work: Work[OnReplica]) -> Any:
    """Return the backend's driver.

    :raises errors.Final: it has no replicas.
    """
    return able_driver(work, values.Ability.REPLICATE, 'have no replicas')


def keep_result(work: Work[OnReplica], result: values.ReplicaResult, as_of: str | None = None) -> None:
    """Note the driver's result in the data of the operation; ``as_of``: when the replica was in sync, in ISO 8601."""
    work.data.result = Outcome(
        state=states.Replica(result.state).value,
        snapshots=dict(result.snapshots),
        exports=list(result.export_locations),
        as_of=as_of,
    )


def _store_result(conn: Connection, replica_id: str, result: Outcome) -> None:
    """Store the backend's result on the replica."""
    export_locations.set_of_instances(conn, {replica_id: result.exports})
    transitions.set_replica_state(conn, replica_id, states.Replica(result.state))
    share_replicas.set_snapshots(conn, replica_id, result.snapshots)


# Creating -------------------------------------------------------------------------------------------


def provide(work: Work[OnReplica]) -> None:
    """Give the replica a share server, if it is to be in a share network."""
    with work.ctx.db.reader() as conn:
        network_id = present_row(conn, work).share_network_id
    if network_id:
        share_servers.serve(work, present_row)


def make(work: Work[OnReplica]) -> None:
    """Create the replica at the backend, with its rules."""
    keep_result(work, driver_of(work).create_replica(load(work)))


def unmake(work: Work[OnReplica]) -> None:
    """Delete the replica at the backend. If that fails, deleting the replica deletes the rest."""
    work.service.driver.delete_replica(load(work))


def made(conn: Connection, work: Work[OnReplica]) -> None:
    """Set the replica to available, and have it brought up to date."""
    access.lock(conn, work.data.share_id)
    if work.data.result is None or share_replicas.as_share(conn, work.resource_id) is None:
        return
    _store_result(conn, work.resource_id, work.data.result)
    transitions.finish(
        conn, _SHARE, 'create', work.resource_id, progress='100%', launched_at=timeutils.utcnow()
    )
    replica_workflow.resync(conn, work.ctx, share_replicas.get(conn, work.ctx.elevated(), work.resource_id))
    work.service.report_soon()


def not_made(conn: Connection, work: Work[CreateReplica], error: Exception) -> None:
    """Set the replica to error, and tell its owner why."""
    replica_workflow.not_made(conn, work, error)
    work.service.report_soon()


# Updating -------------------------------------------------------------------------------------------


def update(work: Work[OnReplica]) -> None:
    """Bring the replica up to date with the active one, as far as that can be reached."""
    work.data.result = None
    as_of = timeutils.utcnow()
    with work.writer() as conn:
        work.read_again(conn)
        row = share_replicas.as_share(conn, work.resource_id)
    if row is not None and row.status in replica_workflow.FOLLOWING:
        result = driver_of(work).update_replica(load(work))
        keep_result(work, result, as_of.isoformat() if result.state == states.Replica.IN_SYNC else None)


def updated(conn: Connection, work: Work[OnReplica]) -> None:
    """Store the replica's state. A replica that was in error is available again."""
    result = work.data.result
    if result is None or not _follows(conn, work):
        return
    _store_result(conn, work.resource_id, result)
    if result.as_of:
        shares.update_instance(
            conn, work.resource_id, synced_at=timeutils.parse_isotime(result.as_of).replace(tzinfo=None)
        )
    transitions.settle(conn, _SHARE, (work.resource_id,), 'error', 'available', progress='100%')
    transitions.set_rules_status(conn, work.resource_id, states.Rules.ACTIVE)


def _follows(conn: Connection, work: Work[OnReplica]) -> bool:
    access.lock(conn, work.data.share_id)
    row = share_replicas.as_share(conn, work.resource_id)
    return row is not None and row.status in replica_workflow.FOLLOWING


def not_updated(conn: Connection, work: Work[OnReplica], error: Exception) -> None:
    """Set the replica to error, and tell its owner why, once."""
    if not _follows(conn, work):
        return
    transitions.set_replica_state(conn, work.resource_id, states.Replica.ERROR)
    if transitions.settle(conn, _SHARE, (work.resource_id,), 'available', 'error'):
        notify(conn, work, replica_workflow.RESOURCE, Action.UPDATE, Detail.UNKNOWN_ERROR, error)


def apply_rules_readonly(work: Work[OnReplica]) -> None:
    """Have the replica's backend apply all rules of the share, as read-only."""
    with work.ctx.db.writer() as conn:
        access.lock(conn, work.data.share_id)
        work.hold(conn)
        work.read_again(conn)
        row = share_replicas.as_share(conn, work.resource_id)
        if row is None or row.status not in replica_workflow.FOLLOWING:
            return
        share = as_share(conn, row)
        rules = access.granted_rules(conn, (row.id,), cast=False).get(row.id, [])
    with hiding(work, work.data.share_id):
        work.service.driver.update_access(share, [dataclasses.replace(rule, level='ro') for rule in rules])


def rules_applied(conn: Connection, work: Work[OnReplica]) -> None:
    """Mark the replica's rules as active."""
    _show_rules(conn, work, states.Rules.ACTIVE)


def rules_not_applied(conn: Connection, work: Work[OnReplica], error: Exception) -> None:
    """Mark the replica's rules as failed, and tell the owner why. The share is not affected."""
    if _show_rules(conn, work, states.Rules.ERROR):
        notify(conn, work, replica_workflow.RESOURCE, Action.UPDATE_ACCESS_RULES, Detail.UNKNOWN_ERROR, error)


def _show_rules(conn: Connection, work: Work[OnReplica], status: states.Rules) -> bool:
    follows = _follows(conn, work)
    if follows:
        transitions.set_rules_status(conn, work.resource_id, status)
    return follows


def update_all(manager: Any) -> None:
    """Have all replicas at the backend brought up to date."""
    ctx = context.admin(manager.services)
    with ctx.db.reader() as conn:
        waiting = share_replicas.list_non_active_at(conn, manager.host, replica_workflow.FOLLOWING)
    for row in waiting:
        ctx.project_id, ctx.user_id = row.project_id, row.user_id
        with ctx.db.writer() as conn:
            access.lock(conn, row.share_id)
            replica_workflow.resync(conn, ctx, row)


# Deleting -------------------------------------------------------------------------------------------


def delete(work: Work[OnReplica]) -> None:
    """Delete the replica at the backend."""
    with work.ctx.db.reader() as conn:
        if share_replicas.as_share(conn, work.resource_id) is None:
            return
    driver_of(work).delete_replica(load(work))


def deleted(conn: Connection, work: Work[OnReplica]) -> None:
    """Delete the replica's row, unless an administrator gave it another status meanwhile."""
    access.lock(conn, work.data.share_id)
    row = share_replicas.as_share(conn, work.resource_id)
    if row is not None and transitions.remove(conn, _SHARE, (work.resource_id,), _SHARE['delete'].during):
        pool_reports.subtract_deleted_shares(conn, row.host, [row.size])
        if row.share_server_id:
            share_server_queries.update(conn, row.share_server_id)
    work.service.report_soon()


def not_deleted(conn: Connection, work: Work[DeleteReplica], error: Exception) -> None:
    """Set the replica to error, so that it can be deleted again. With force, delete its row all the same."""
    if work.data.force:
        LOG.warning('%s: its backend could not delete it; it is deleted by force', work.resource_id)
        deleted(conn, work)
    else:
        replica_workflow.not_deleted(conn, work, error)


PLANS: list[Plan[Any]] = [
    Plan(
        share_replicas.CREATE,
        (Step(provide), Step(make, unmake, 'create')),
        made,
        not_made,
        data=CreateReplica,
    ),
    Plan(share_replicas.UPDATE, (Step(update),), updated, not_updated, data=OnReplica),
    Plan(
        share_replicas.ACCESS,
        (Step(apply_rules_readonly, name='apply_rules'),),
        rules_applied,
        rules_not_applied,
        data=OnReplica,
    ),
    Plan(share_replicas.DELETE, (Step(delete),), deleted, not_deleted, data=DeleteReplica),
]
