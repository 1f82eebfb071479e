# SPDX-License-Identifier: Apache-2.0
"""What a schedule makes and deletes: snapshots, backups and group snapshots, by the same actions as a request of the owner."""

import dataclasses
from collections.abc import Callable
from typing import Any

from manila_lite import context, errors, states
from manila_lite.actions import share_backups, share_group_snapshots, snapshots
from manila_lite.db.core.engine import Row
from manila_lite.db.queries import schedules
from manila_lite.engine import Work
from manila_lite.operation_data.schedules import RunSchedule
from manila_lite.values import schedule_times
from manila_lite.values.retention import State

SNAPSHOT, BACKUP, GROUP_SNAPSHOT = schedules.COPIES
_PREFIX = 'scheduled'


@dataclasses.dataclass(frozen=True)
class Maker:
    """How copies of one type are made and deleted, and the policies of who may do so.

    ``source``: the field that names what is copied. ``more``: further fields, from the schedule.
    """

    machine: states.StateMachine
    source: str
    create: Callable[[context.RequestContext, dict[str, Any]], Any]
    create_rule: str
    delete: Callable[[context.RequestContext, str], None]
    delete_rule: str
    more: Callable[[Row[Any]], dict[str, Any]] = lambda schedule: {}


MAKERS = {
    SNAPSHOT: Maker(
        states.SNAPSHOT,
        'share_id',
        lambda ctx, wanted: snapshots.create(ctx, wanted)[0],
        'share:create_snapshot',
        snapshots.delete,
        'share:delete_snapshot',
    ),
    BACKUP: Maker(
        states.SHARE_BACKUP,
        'share_id',
        share_backups.create,
        'share_backup:create',
        share_backups.delete,
        'share_backup:delete',
        lambda schedule: {'backup_options': {'backup_type': schedule.backup_type}},
    ),
    GROUP_SNAPSHOT: Maker(
        states.SHARE_GROUP_SNAPSHOT,
        'share_group_id',
        share_group_snapshots.create,
        'share_group_snapshot:create',
        share_group_snapshots.delete,
        'share_group_snapshot:delete',
    ),
}


def owner(work: Work[RunSchedule], project_id: str | None, user_id: str | None) -> context.RequestContext:
    """Return the context of a member of the project: no administrator, whoever made the schedule."""
    return context.member(work.ctx.services, project_id, user_id, work.op.request_id)


def _must_may(ctx: context.RequestContext, rule: str) -> None:
    if not ctx.can(rule):
        raise errors.Forbidden(f'The policy {rule} does not allow this to a member of the project.')


def make(
    work: Work[RunSchedule],
    ctx: context.RequestContext,
    schedule: Row[Any],
    resource_type: str,
    source_id: str,
) -> None:
    """Begin to make a copy, and mark it as made by the schedule in the same transaction.

    :raises errors.ManilaLiteError: a request of the owner would be refused, too.
    """
    maker, run_at = MAKERS[resource_type], work.data.run_at
    _must_may(ctx, maker.create_rule)
    local = schedule_times.in_zone(run_at, schedule.time_zone)
    wanted = {
        maker.source: source_id,
        'name': f'{schedule.name_prefix or _PREFIX}-{local:%Y-%m-%d-%H%M}',
        'description': f'Made by schedule {schedule.id}.',
        **maker.more(schedule),
    }
    with ctx.db.together():
        with ctx.db.writer() as conn:
            work.hold(conn)
        made = maker.create(ctx, wanted)
        with ctx.db.writer() as conn:
            schedules.add_copy(
                conn,
                resource_id=made.id,
                schedule_id=schedule.id,
                resource_type=resource_type,
                source_id=source_id,
                run_at=run_at,
            )


def delete(work: Work[RunSchedule], ctx: context.RequestContext, copy: schedules.Copy) -> None:
    """Begin to delete a copy.

    :raises errors.ManilaLiteError: its owner holds it, or a request of the owner would be refused, too.
    """
    maker = MAKERS[copy.resource_type]
    _must_may(ctx, maker.delete_rule)
    with ctx.db.together():
        with ctx.db.writer() as conn:
            work.hold(conn)
            if schedules.is_held(conn, copy.id):
                raise errors.WrongState(
                    f'It has the property {schedules.HOLD}; it stays until that is removed.'
                )
        maker.delete(ctx, copy.id)


def is_being_made(copy: schedules.Copy) -> bool:
    """Say whether the copy is not finished yet."""
    return copy.status == MAKERS[copy.resource_type].machine['create'].during


def state_of(copy: schedules.Copy) -> State:
    """Return what the copy is worth to retention. One that was good is never taken for a failure."""
    machine = MAKERS[copy.resource_type].machine
    if copy.status == machine['create'].ok:
        return State.GOOD
    if copy.status == machine['create'].fail:
        return State.DOUBTFUL if copy.was_good else State.FAILED
    return State.FAILED if copy.status == 'error_deleting' else State.BUSY
