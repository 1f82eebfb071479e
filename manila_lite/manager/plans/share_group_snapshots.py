# SPDX-License-Identifier: Apache-2.0
"""Snapshots of share groups at their backend: consistent where it supports that, else one share after another."""

from typing import Any

from manila_lite import errors, states, values
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import operations, share_group_snapshots, share_groups
from manila_lite.db.queries.messages import Action
from manila_lite.drivers.interface import abilities_of
from manila_lite.engine import Plan, Step, Work
from manila_lite.manager.plans.task import as_snapshots
from manila_lite.operation_data import OperationData
from manila_lite.operation_data.share_groups import CreateGroupSnapshot
from manila_lite.workflow.verbs import verb_plan

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


def taken(conn: Connection, work: Work[CreateGroupSnapshot], group_snapshot_id: str) -> None:
    """Store the locations of the members at the backend."""
    share_group_snapshots.set_locations(conn, work.data.locations)


def deleted(conn: Connection, work: Work[Any], group_snapshot_id: str) -> None:
    """Have the freed capacity reported."""
    work.service.report_soon()


PLANS: list[Plan[Any]] = [
    verb_plan(
        'share_group_snapshot.create',
        CreateGroupSnapshot,
        states.SHARE_GROUP_SNAPSHOT,
        'create',
        Step(quiesce),
        Step(take_snapshots, delete_snapshots),
        on_done=taken,
        action=Action.CREATE,
        told=('end', 'error'),
    ),
    verb_plan(
        'share_group_snapshot.delete',
        OperationData,
        states.SHARE_GROUP_SNAPSHOT,
        'delete',
        Step(quiesce),
        Step(delete_snapshots),
        on_done=deleted,
        action=Action.DELETE,
        told=('end', 'error'),
    ),
]
