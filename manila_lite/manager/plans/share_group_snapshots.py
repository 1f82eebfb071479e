# SPDX-License-Identifier: Apache-2.0
"""Snapshots of share groups at their backend: consistent where it supports that, else one share after another."""

from typing import Any

from manila_lite import errors, states, values
from manila_lite.db.core import transitions
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import operations, share_group_snapshots, share_groups
from manila_lite.db.queries.messages import Action, Detail
from manila_lite.drivers.interface import abilities_of
from manila_lite.engine import Plan, Step, Work
from manila_lite.manager.plans.task import as_snapshots, notify
from manila_lite.operation_data import OperationData
from manila_lite.operation_data.share_groups import CreateGroupSnapshot
from manila_lite.rpc import notifications

#: Seconds between looks whether other work on the shares has ended.
_LOOK_AGAIN = 0.5


def _members(work: Work[Any]) -> list[values.Snapshot]:
    with work.ctx.db.reader() as conn:
        return as_snapshots(conn, share_group_snapshots.with_shares(conn, work.resource_id))


def quiesce(work: Work[Any]) -> None:
    """Wait until no other operation on the shares is open. None begins while the group snapshot is under way.

    :raises errors.Again: some operation is open.
    """
    with work.ctx.db.reader() as conn:
        members = share_group_snapshots.with_shares(conn, work.resource_id)
        busy = operations.is_any_mutex_open(conn, [share.instance_id for _, share in members])
    if busy:
        raise errors.Again(_LOOK_AGAIN)


def take_snapshots(work: Work[CreateGroupSnapshot]) -> None:
    """Take a snapshot of every share of the group."""
    driver, members = work.service.driver, _members(work)
    with work.ctx.db.reader() as conn:
        snapshot = share_group_snapshots.find(conn, work.resource_id)
        group = share_groups.find(conn, snapshot.share_group_id) if snapshot else None
    at_once = group is not None and group.consistent_snapshot_support
    if at_once and values.Ability.CONSISTENT_SNAPSHOTS in abilities_of(driver):
        work.data.locations = dict(driver.create_group_snapshot(members)) if members else {}
    else:
        work.data.locations = {member.id: driver.create_snapshot(member) for member in members}


def delete_snapshots(work: Work[Any]) -> None:
    """Delete the snapshot of every share of the group."""
    for member in _members(work):
        work.service.driver.delete_snapshot(member)


def taken(conn: Connection, work: Work[CreateGroupSnapshot]) -> None:
    """Set the group snapshot to available, and store its locations at the backend."""
    share_group_snapshots.set_locations(conn, work.data.locations)
    transitions.finish(conn, states.SHARE_GROUP_SNAPSHOT, 'create', work.resource_id)
    _emit(work, 'create.end')


def not_taken(conn: Connection, work: Work[Any], error: Exception) -> None:
    """Set the group snapshot to error, and tell its owner why."""
    transitions.fail(conn, states.SHARE_GROUP_SNAPSHOT, 'create', work.resource_id)
    notify(conn, work, 'SHARE_GROUP_SNAPSHOT', Action.CREATE, Detail.UNKNOWN_ERROR, error)
    _emit(work, 'create.error', error=errors.reason(error, work.ctx.request_id))


def deleted(conn: Connection, work: Work[Any]) -> None:
    """Delete the group snapshot's row, and have the freed capacity reported."""
    transitions.finish(conn, states.SHARE_GROUP_SNAPSHOT, 'delete', work.resource_id)
    work.service.report_soon()
    _emit(work, 'delete.end')


def not_deleted(conn: Connection, work: Work[Any], error: Exception) -> None:
    """Keep the group snapshot, so that it can be deleted again, and tell its owner why it is not deleted."""
    transitions.fail(conn, states.SHARE_GROUP_SNAPSHOT, 'delete', work.resource_id)
    notify(conn, work, 'SHARE_GROUP_SNAPSHOT', Action.DELETE, Detail.UNKNOWN_ERROR, error)
    _emit(work, 'delete.error', error=errors.reason(error, work.ctx.request_id))


def _emit(work: Work[Any], event: str, **more: Any) -> None:
    notifications.emit(
        work.ctx,
        f'share_group_snapshot.{event}',
        {'share_group_snapshot_id': work.resource_id, **more},
        work.op.host,
    )


PLANS: list[Plan[Any]] = [
    Plan(
        'share_group_snapshot.create',
        (Step(quiesce), Step(take_snapshots, delete_snapshots)),
        taken,
        not_taken,
        data=CreateGroupSnapshot,
    ),
    Plan(
        'share_group_snapshot.delete',
        (Step(quiesce), Step(delete_snapshots)),
        deleted,
        not_deleted,
        data=OperationData,
    ),
]
