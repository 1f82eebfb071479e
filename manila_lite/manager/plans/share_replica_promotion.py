# SPDX-License-Identifier: Apache-2.0
"""Promotion of a replica at its backend. The active replica's backend takes no part in it, and may be down."""

from typing import Any

from oslo_utils import timeutils

from manila_lite import errors, states
from manila_lite.db.core import transitions
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import access, ensure, export_locations, share_replicas, shares
from manila_lite.db.queries import operations as rows
from manila_lite.engine import Plan, Step, Work, backend_of
from manila_lite.host import clock
from manila_lite.manager.plans.share_replicas import driver_of, keep_result, load, present_row
from manila_lite.operation_data.share_replicas import PromoteReplica
from manila_lite.workflow import share_replicas as replica_workflow
from manila_lite.workflow.access import apply_rules

_SHARE = states.SHARE
#: Seconds between looks whether a replica that is to be promoted is in sync.
_LOOK = 1.0


def quiesce(work: Work[PromoteReplica]) -> None:
    """Wait until the replica is in sync, at most as long as the request says.

    :raises errors.Again: it is not in sync yet, and there is time left.
    """
    now = clock.timestamp()
    if work.data.quiesce and work.data.until is None:
        work.data.until = now + work.data.quiesce
    if work.data.until is None or now >= work.data.until:
        return
    if driver_of(work).update_replica(load(work)).state != states.Replica.IN_SYNC:
        raise errors.Again(_LOOK)


def promote(work: Work[PromoteReplica]) -> None:
    """Make the share accessible to clients here, and no longer where it was, if that backend can be reached.

    :raises errors.Again: the old backend is still giving clients access to the share.
    """
    with work.ctx.db.reader() as conn:
        _must_go_on(conn, work)
        _must_be_alone(conn, work)
    try:
        result = driver_of(work).promote_replica(load(work))
    finally:
        _put_back_if_stopped(work)
    if not result.export_locations:
        raise errors.ManilaLiteError('The backend did not report where the share is now.')
    keep_result(work, result)


def _must_go_on(conn: Connection, work: Work[PromoteReplica]) -> Any:
    """Check that neither the replica nor the share was given another status by hand. Return the row of the share.

    :raises errors.Final: one of them was.
    """
    active = shares.get(conn, work.ctx.elevated(), work.data.share_id)
    for what, status in (('replica', present_row(conn, work).status), ('share', active.status)):
        if status != _SHARE['promote'].during:
            raise errors.Final(
                f'The promotion of replica {work.resource_id} was stopped: the {what} is {status}.'
            )
    return active


def _must_be_alone(conn: Connection, work: Work[PromoteReplica]) -> None:
    """Wait until the share's present backend gives clients no more access: operations that do so begin no more, and
    open ones have ended, or hang so long that waiting is useless.
    """
    share_id = work.data.share_id
    home = backend_of(shares.get(conn, work.ctx.elevated(), share_id).host or '')
    at_work = share_replicas.list_claimed_operations(
        conn, (access.unique_key(share_id), ensure.unique_key(home))
    )
    now = clock.timestamp()
    if work.data.before is None or work.data.alone_at is None:
        work.data.before, work.data.alone_at = at_work, now + work.ctx.conf.operations.lease
    before = work.data.before
    if now < work.data.alone_at and any(
        before.get(operation_id) == position for operation_id, position in at_work.items()
    ):
        raise errors.Again(_LOOK)


def _put_back_if_stopped(work: Work[PromoteReplica]) -> None:
    """Put the promotion back once more if it was stopped during the driver call: the backend may have gone on."""
    with work.ctx.db.writer() as conn:
        access.lock(conn, work.data.share_id)
        row = share_replicas.as_share(conn, work.resource_id)
        if row is not None and row.status != _SHARE['promote'].during:
            replica_workflow.put_back(conn, work.ctx, row.id, work.resource_id)


def promoted(conn: Connection, work: Work[PromoteReplica]) -> None:
    """Make the replica the share's instance, and the former active one a replica like the others. All follow it."""
    share_id, result = work.data.share_id, work.data.result
    if result is None:
        raise errors.ManilaLiteError('The backend has not reported where the share is now.')
    access.lock(conn, share_id)
    active, mounted = _must_go_on(conn, work), work.data.mounted
    # The old backend applies no rules any more; the new one applies all rules once more, below.
    rows.supersede(conn, share_id, (access.SYNC,))
    transitions.finish(conn, _SHARE, work.data.over, active.instance_id)
    transitions.finish(conn, _SHARE, 'promote', work.resource_id)
    shares.update_instance(
        conn,
        active.instance_id,
        is_secondary=True,
        cast_rules_to_readonly=mounted,
        synced_at=timeutils.utcnow(),
    )
    transitions.set_replica_state(conn, active.instance_id, states.Replica.OUT_OF_SYNC)
    if not mounted:  # A readable one is exported again, at the same locations, as soon as it follows.
        export_locations.set_of_instances(conn, {active.instance_id: ()})
    export_locations.set_of_instances(conn, {work.resource_id: result.exports})
    shares.update_instance(conn, work.resource_id, is_secondary=False, cast_rules_to_readonly=False)
    transitions.set_replica_state(conn, work.resource_id, states.Replica.ACTIVE)
    replica_workflow.give_up(
        conn, work.ctx, share_replicas.get(conn, work.ctx.elevated(), active.instance_id)
    )
    replica_workflow.take_snapshots(conn, work, share_id, result.snapshots)
    transitions.set_rules_status(conn, work.resource_id, states.Rules.SYNCING)
    apply_rules(conn, work.ctx, share_id, work.op.host)
    replica_workflow.resync_all(conn, work.ctx, share_id)
    work.service.report_soon()


PLANS: list[Plan[Any]] = [
    Plan(
        share_replicas.PROMOTE,
        (Step(quiesce), Step(promote)),
        promoted,
        replica_workflow.not_promoted,
        data=PromoteReplica,
    )
]
