# SPDX-License-Identifier: Apache-2.0
"""Plans of shares at their backend: create, delete, resize, revert."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from oslo_utils import timeutils

from manila_lite import errors, states, values
from manila_lite.db.core import transitions
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import (
    access,
    export_locations,
    pool_reports,
    share_server_queries,
    share_usage,
    shares,
    snapshots,
)
from manila_lite.db.queries.messages import Action, Detail
from manila_lite.engine import Plan, Step, Work
from manila_lite.manager.plans import share_servers
from manila_lite.manager.plans.task import (
    load_member,
    load_share,
    load_snapshot,
    prepare_changes,
    prepare_shares,
)
from manila_lite.operation_data import OperationData
from manila_lite.operation_data.shares import CreateShare, NewSize, ResizeShare, RevertShare
from manila_lite.workflow import share_replicas
from manila_lite.workflow.verbs import notify, share_instance, verb_plan


def create(work: Work[CreateShare]) -> None:
    """Create the share at the backend, and keep its export locations."""
    share = load_share(work)
    if share.share_network_id:
        share = dataclasses.replace(share, server=share_servers.serve(work))
    source = _source(work, share)
    exports = _create_from(work, share, source) if source else work.service.driver.create_share(share)
    work.data.exports = list(exports)


def _create_from(
    work: Work[CreateShare], share: values.Share, source: values.Snapshot
) -> Sequence[values.ExportLocation]:
    """Create the share from the snapshot.

    :raises errors.Again: the backend still copies; ``data.progress`` has the progress, if the backend knows it.
    """
    try:
        exports: Sequence[values.ExportLocation] = work.service.driver.create_share_from_snapshot(
            share, source
        )
    except errors.Again as later:
        if later.progress:
            work.data.progress = dict(later.progress)
        raise
    return exports


def _source(work: Work[CreateShare], share: values.Share) -> values.Snapshot | None:
    """Return the snapshot that the share is made from: of a share, or a member of a group snapshot."""
    if work.data.member:
        return load_member(work, work.data.member)
    return load_snapshot(work, share.snapshot_id) if share.snapshot_id else None


def try_elsewhere(work: Work[CreateShare]) -> None:
    """Delete the share at this backend, and have the scheduler choose another pool.

    If that fails, the operation goes no further: the share is in error here, and deleting it deletes the rest.
    """
    share = load_share(work)
    if share.pool:  # not so if the answer to the commit below was lost, which is only after the deletion
        work.service.driver.delete_share(share)
    with work.writer() as conn:
        row = shares.find_by_instance(conn, share.id)
        if row is not None and row.host:  # not so if a process died between this and passing it on
            shares.update_instance(conn, share.id, host=None, share_server_id=None)
            pool_reports.release_space(conn, row.host, share.size)
            work.data.excluded[row.host] = (
                work.error and errors.user_text(work.error)
            ) or 'the backend failed'
    work.send = ('scheduler', '')


def created(conn: Connection, work: Work[CreateShare], instance_id: str) -> dict[str, Any]:
    """Store the export locations, and the time of launch."""
    export_locations.set_of_instances(conn, {instance_id: work.data.exports})
    return {'progress': '100%', 'launched_at': timeutils.utcnow()}


def all_created(conn: Connection, works: Sequence[Work[CreateShare]]) -> None:
    """End the creation of several shares that were loaded together, as ``created`` and the end of its verb do for one."""
    verb = states.SHARE['create']
    export_locations.set_of_instances(
        conn,
        {work.loaded.id: work.data.exports for work in works},
        new=not any(work.loaded.export_locations for work in works),
    )
    transitions.settle(
        conn,
        states.SHARE,
        sorted(work.loaded.id for work in works),
        verb.during,
        str(verb.ok),
        progress='100%',
        launched_at=timeutils.utcnow(),
    )


def delete(work: Work[Any]) -> None:
    """Delete the share at the backend.

    :raises errors.Final: snapshots of it, which their owner no longer sees, are still there.
    """
    try:
        share = load_share(work)
    except errors.Final:
        return
    count = 0
    if work.loaded is None:  # else it has none, see ``prepare_deletions``
        with work.ctx.db.reader() as conn:
            count = snapshots.count_of(conn, share.share_id)
    if count:
        raise errors.Final(
            f'{errors.count(count, "snapshot")} of the share could not be deleted at the backend yet.'
        )
    work.service.driver.delete_share(share)


def prepare_deletions(conn: Connection, works: Sequence[Work[Any]]) -> None:
    """Give each deletion its share as drivers see it, if it has no snapshots. A share that is being deleted gets none."""
    prepare_shares(conn, works)
    kept = snapshots.list_shares_with_any(conn, [work.resource_id for work in works])
    for work in works:
        if work.resource_id in kept:
            work.loaded = None


def deleted(conn: Connection, work: Work[Any], instance_id: str) -> None:
    """Delete the share's row, unless an administrator gave it another status meanwhile."""
    gone(conn, work, instance_id, states.SHARE['delete'].during)


def gone(conn: Connection, work: Work[Any], instance_id: str, during: str) -> None:
    """Delete the row of a share in the status ``during``, as ``deleted`` does."""
    row = shares.find_by_instance(conn, instance_id)
    if row is not None and transitions.remove(conn, states.SHARE, (instance_id,), during):
        shares.delete(conn, (work.resource_id,))
        if row.share_server_id:
            share_server_queries.update(conn, row.share_server_id)
        pool_reports.subtract_deleted_shares(conn, row.host, [row.size])
    work.service.report_soon()


def all_deleted(conn: Connection, works: Sequence[Work[Any]]) -> None:
    """Delete the rows of several shares that were loaded together, as ``deleted`` does for one.

    :raises errors.WrongState: an administrator gave one of them another status meanwhile.
    """
    rows = shares.list_by_ids(conn, [work.resource_id for work in works]).values()
    if transitions.remove(
        conn, states.SHARE, sorted(row.instance_id for row in rows), states.SHARE['delete'].during
    ) < len(rows):
        raise errors.WrongState('One of the shares is no longer being deleted.')
    shares.delete(conn, [row.id for row in rows])
    for server in sorted({row.share_server_id for row in rows if row.share_server_id}):
        share_server_queries.update(conn, server)
    by_pool: dict[str, list[float]] = {}
    for row in rows:
        by_pool.setdefault(row.host, []).append(row.size)
    for host in sorted(by_pool):
        pool_reports.subtract_deleted_shares(conn, host, by_pool[host])
    works[0].service.report_soon()


def extend(work: Work[ResizeShare]) -> None:
    """Extend the share at the backend to its new size."""
    work.service.driver.extend_share(load_share(work), work.data.new_size)


def shrink(work: Work[ResizeShare]) -> None:
    """Shrink the share at the backend to its new size."""
    work.service.driver.shrink_share(load_share(work), work.data.new_size)


def revert(work: Work[RevertShare]) -> None:
    """Revert the share at the backend to the snapshot."""
    work.service.driver.revert_to_snapshot(
        load_snapshot(work, work.data.snapshot_id, size=work.data.new_size)
    )


def resized(conn: Connection, work: Work[NewSize], instance_id: str) -> None:
    """Store the new size as the size, and have replicas follow."""
    access.lock(conn, work.resource_id)
    shares.update(conn, work.resource_id, size=work.data.new_size, target_size=None)
    follow(conn, work, shares.get(conn, work.ctx.elevated(), work.resource_id))
    _note_growth(conn, work)


def _note_growth(conn: Connection, work: Work[NewSize]) -> None:
    """Note that a share that is to grow has grown: its owner is told when it cannot do so any more."""
    if isinstance(work.data, ResizeShare) and work.data.automatic:
        share_usage.set_growth_refused(conn, work.resource_id, False)


def all_extended(conn: Connection, works: Sequence[Work[ResizeShare]]) -> None:
    """End the extension of several shares that were loaded together, as ``resized`` and the end of its verb do for one."""
    verb = states.SHARE['extend']
    transitions.settle(
        conn, states.SHARE, sorted(work.loaded.id for work in works), verb.during, str(verb.ok)
    )
    shares.update_sizes(conn, {work.resource_id: work.data.new_size for work in works})
    for work in works:
        _note_growth(conn, work)


def follow(conn: Connection, work: Work[Any], share: Any) -> None:
    """Have the share's replicas, if it can have any, brought up to date with the share (its row)."""
    if share.replication_type:
        share_replicas.resync_all(conn, work.ctx, share.id)


def not_resized(conn: Connection, work: Work[Any], instance_id: str) -> None:
    """Keep the old size. Quota no longer counts the growth."""
    access.lock(conn, work.resource_id)
    shares.update(conn, work.resource_id, target_size=None)


def reverted(conn: Connection, work: Work[RevertShare], instance_id: str) -> None:
    """Store the snapshot's size as the share's, and set the snapshot to available again."""
    resized(conn, work, instance_id)
    transitions.finish(conn, states.SNAPSHOT, 'restore', work.data.snapshot_id)


def not_reverted(conn: Connection, work: Work[RevertShare], instance_id: str) -> None:
    """Set the snapshot to available again."""
    not_resized(conn, work, instance_id)
    transitions.fail(conn, states.SNAPSHOT, 'restore', work.data.snapshot_id)


def _shrink_ends(plan: Plan[ResizeShare]) -> Plan[ResizeShare]:
    """Return the plan with another end: a share that the backend refuses to shrink stays available as before."""

    def failed(conn: Connection, work: Work[ResizeShare], error: Exception) -> None:
        if not isinstance(error, errors.RefusedShrink):
            plan.failed(conn, work, error)
            return
        instance = share_instance(conn, work)
        if instance:
            not_resized(conn, work, instance)
            transitions.finish(conn, states.SHARE, 'shrink', instance)
        notify(conn, work, 'SHARE', Action.SHRINK, Detail.DRIVER_REFUSED_SHRINK, error)

    return dataclasses.replace(plan, failed=failed)


PLANS: list[Plan[Any]] = [
    dataclasses.replace(
        verb_plan(
            'share.create',
            CreateShare,
            states.SHARE,
            'create',
            Step(create, try_elsewhere),
            on_done=created,
            row_id=share_instance,
            action=Action.CREATE,
        ),
        prepare=prepare_shares,
        done_many=all_created,
    ),
    dataclasses.replace(
        verb_plan(
            'share.delete',
            OperationData,
            states.SHARE,
            'delete',
            Step(delete),
            on_done=deleted,
            row_id=share_instance,
            action=Action.DELETE,
        ),
        prepare=prepare_deletions,
        done_many=all_deleted,
    ),
    dataclasses.replace(
        verb_plan(
            'share.extend',
            ResizeShare,
            states.SHARE,
            'extend',
            Step(extend),
            on_done=resized,
            on_failed=not_resized,
            row_id=share_instance,
            action=Action.EXTEND,
            detail=Detail.DRIVER_FAILED_EXTEND,
        ),
        prepare=prepare_changes,
        done_many=all_extended,
    ),
    _shrink_ends(
        verb_plan(
            'share.shrink',
            ResizeShare,
            states.SHARE,
            'shrink',
            Step(shrink),
            on_done=resized,
            on_failed=not_resized,
            row_id=share_instance,
            action=Action.SHRINK,
            detail=Detail.DRIVER_FAILED_SHRINK,
        )
    ),
    verb_plan(
        'share.revert',
        RevertShare,
        states.SHARE,
        'revert',
        Step(revert),
        on_done=reverted,
        on_failed=not_reverted,
        row_id=share_instance,
        action=Action.REVERT_TO_SNAPSHOT,
    ),
]
