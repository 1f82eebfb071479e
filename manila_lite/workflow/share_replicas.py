# SPDX-License-Identifier: Apache-2.0
"""Updates of replicas from their share, and the ends of work on replicas, at any step.

Callers that begin work on replicas lock the share's instances (``db.access.lock``) before.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from manila_lite import context, states
from manila_lite.db.core import transitions
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import (
    access,
    messages,
    pool_reports,
    share_migration,
    share_replicas,
    share_server_migration,
    shares,
    snapshot_access,
)
from manila_lite.db.queries import operations as rows
from manila_lite.db.queries.messages import Action, Detail
from manila_lite.engine.begin import Wake, backend_of, begin_once
from manila_lite.engine.plans import FAST, Work
from manila_lite.operation_data.share_replicas import CreateReplica, OnReplica, PromoteReplica
from manila_lite.workflow import ensure
from manila_lite.workflow import snapshot_access as snapshot_access_workflow
from manila_lite.workflow.verbs import notify

#: The statuses of replicas that are kept up to date.
FOLLOWING = ('available', 'error')
#: The resource type of replicas in user messages.
RESOURCE = 'SHARE_REPLICA'
_SHARE = states.SHARE
#: The reason for ensuring shares after a promotion that failed.
_WHY = 'promotion'


# Updates --------------------------------------------------------------------------------------------


def resync(conn: Connection, ctx: context.RequestContext, row: Any, left: Sequence[str] = ()) -> Wake:
    """Have the replica (a row that is not the active one) brought up to date.

    ``left``: see ``OnReplica``; for the operation, if none is open yet.
    """
    return begin_once(
        conn,
        ctx,
        share_replicas.UPDATE,
        'share_replica',
        row.id,
        topic='share',
        host=row.host,
        mutex_key=row.id,
        unique_key=f'{share_replicas.UPDATE}:{row.id}',
        data=OnReplica(share_id=row.share_id, left=list(left)),
        owner=row.project_id,
    )


def give_up(conn: Connection, ctx: context.RequestContext, row: Any) -> None:
    """Have the former active replica brought up to date. Until then its operation lists the snapshots that it may hold:
    its backend can be down, and they can be deleted meanwhile.
    """
    resync(
        conn, ctx, row, left=[snapshot.id for snapshot in share_migration.snapshots_of(conn, row.share_id)]
    )


def left_at(conn: Connection, replica_id: str) -> list[str]:
    """Return the ids of snapshots that the replica may hold from the time when it was the active one."""
    return [
        snapshot_id
        for op in rows.list_of_resource(conn, replica_id, share_replicas.UPDATE)
        if op.state == rows.OPEN
        for snapshot_id in OnReplica.from_json(op.data).left
    ]


def resync_all(conn: Connection, ctx: context.RequestContext, share_id: str) -> None:
    """Have all other replicas of the share brought up to date with the active one."""
    access.lock(conn, share_id)
    for row in share_replicas.list_non_active(conn, share_id):
        if row.host and row.status in FOLLOWING:
            resync(conn, ctx, row)


def apply_rules(conn: Connection, ctx: context.RequestContext, share_id: str) -> None:
    """Have the share's access rules applied to the replicas that clients mount."""
    for row in share_replicas.list_non_active(conn, share_id):
        if row.host and row.status in FOLLOWING and row.cast_rules_to_readonly:
            begin_once(
                conn,
                ctx,
                share_replicas.ACCESS,
                'share_replica',
                row.id,
                topic='share',
                host=row.host,
                lane=FAST,
                mutex_key=f'access:{row.id}',
                unique_key=f'{share_replicas.ACCESS}:{row.id}',
                owner=row.project_id,
                data=OnReplica(share_id=share_id),
            )
            transitions.set_rules_status(conn, row.id, states.Rules.SYNCING)


# Ends -----------------------------------------------------------------------------------------------


def not_made(conn: Connection, work: Work[CreateReplica], error: Exception) -> None:
    """Set the replica to error, and tell its owner why."""
    access.lock(conn, work.data.share_id)
    if work.data.claimed:
        pool_reports.release_space(conn, *work.data.claimed)
    if share_replicas.as_share(conn, work.resource_id) is not None:
        transitions.fail(conn, _SHARE, 'create', work.resource_id)
        transitions.set_replica_state(conn, work.resource_id, states.Replica.ERROR)
        action = Action.CREATE if work.op.topic == 'share' else Action.ALLOCATE_HOST
        notify(conn, work, RESOURCE, action, Detail.UNKNOWN_ERROR, error)


def not_deleted(conn: Connection, work: Work[Any], error: Exception) -> None:
    """Set the replica to error, so that it can be deleted again, and tell its owner why."""
    transitions.fail(conn, _SHARE, 'delete', work.resource_id)
    notify(conn, work, RESOURCE, Action.DELETE, Detail.UNKNOWN_ERROR, error)


def not_promoted(conn: Connection, work: Work[PromoteReplica], error: Exception) -> None:
    """Keep the active replica and have it ensured. The other replica is in error until it is up to date again."""
    share_id = work.data.share_id
    access.lock(conn, share_id)
    active = shares.get(conn, work.ctx.elevated(), share_id)
    transitions.fail(conn, _SHARE, 'promote', work.resource_id)
    transitions.fail(conn, _SHARE, work.data.over, active.instance_id)
    put_back(conn, work.ctx, share_id, work.resource_id)
    notify(conn, work, RESOURCE, Action.PROMOTE, Detail.UNKNOWN_ERROR, error)


def put_back(conn: Connection, ctx: context.RequestContext, share_id: str, replica_id: str) -> None:
    """Have the active replica ensured, and the replica that was to take its place brought up to date if it follows: how
    far its backend went is not known.
    """
    active = shares.get(conn, ctx.elevated(), share_id)
    for row in share_replicas.list_non_active(conn, share_id):
        if row.id == replica_id and row.host and row.status in FOLLOWING:
            resync(conn, ctx, row)
    if active.host:
        ensure.ask_once(conn, ctx, backend_of(active.host), _WHY, [active.instance_id])


def take_snapshots(conn: Connection, work: Work[Any], share_id: str, held: Mapping[str, str | None]) -> None:
    """Move the share's snapshots to the replica that is the active one now, with their exports. Snapshots that the
    replica does not hold are in error and without exports.
    """
    share_server_migration.set_provider_locations(conn, held)
    share_replicas.set_snapshots(conn, work.resource_id, {})
    lost = {
        row.id: row.project_id
        for row in share_migration.snapshots_of(conn, share_id)
        if row.id not in held and row.status == 'available'
    }
    if transitions.settle(conn, states.SNAPSHOT, lost, 'available', 'error'):
        messages.create_many(
            conn,
            work.ctx,
            'SHARE_SNAPSHOT',
            lost,
            Action.PROMOTE,
            Detail.UNKNOWN_ERROR,
            'The promoted replica does not have the snapshot.',
        )
    snapshot_access.set_export_locations_of(conn, dict.fromkeys(lost, ()))
    snapshot_access_workflow.begin_all(conn, work.ctx, (share_id,), work.op.host, moved=True)
