# SPDX-License-Identifier: Apache-2.0
"""Evacuations: everything on a backend, or on all backends of a host, moves elsewhere, a few at a time.

The plan has one step. It looks which migrations have ended, begins others, and comes back. What is on the host is read
anew each time, so that a look after a crash, or by another scheduler, goes on where the last one stopped. Resources are
taken in a fixed order; if some moved and others did not, all that is left is tried once more, since there may be room now.
"""

from collections.abc import Mapping
from typing import Any

from oslo_log import log
from oslo_utils import timeutils

from manila_lite import context, errors
from manila_lite.actions import migration_targets, share_migration, share_server_migration, share_servers
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import evacuation as queries
from manila_lite.db.queries import operation_claims, operations
from manila_lite.engine import Plan, Step, Work
from manila_lite.operation_data.evacuation import START, Evacuate, Figures, Moving
from manila_lite.operation_data.migrations import Answer, Migrate, Progress, Reached
from manila_lite.scheduler import evacuation_targets
from manila_lite.workflow import evacuation as workflow

LOG = log.getLogger(__name__)

#: Seconds between looks at migrations that are under way.
_PAUSE = 1.0
#: Rows of the plan, and reasons, that the operation keeps.
_KEPT = 1000
#: Refusals of a move, by the resource or by its destination.
_REFUSALS = (errors.Invalid, errors.Conflict, errors.NotFound, errors.OverQuota)
_REQUESTS: Mapping[str, Any] = {
    queries.SERVER: share_server_migration.REQUESTS,
    queries.SHARE: share_migration.REQUESTS,
}
#: Why resources of other types stay.
_STAYS = {
    queries.REPLICA: 'Share replica {id} is on {host}: create another one elsewhere, then delete it.',
    queries.COPY: 'Share instance {id} on {host} belongs to a migration: cancel that, or repeat migration_complete if its '
    'cut-over failed. Delete the instance only if its share is not in error.',
}


def evacuate(work: Work[Evacuate]) -> None:
    """Move everything off the host, or with ``dry_run`` only list where it would go.

    :raises errors.Again: something is under way, or is tried once more.
    :raises errors.Final: something stays, and why.
    """
    _settle(work)
    _advance(work)
    _measure(work)
    if work.data.moving:
        raise errors.Again(_PAUSE)
    if not work.data.dry_run:
        _conclude(work)


# Migrations under way -----------------------------------------------------------------------------


def _settle(work: Work[Evacuate]) -> None:
    """Drop the migrations that have ended from those under way, and keep the reasons of those that failed."""
    moving = work.data.moving
    with work.ctx.db.reader() as conn:
        last = queries.last_migrations(conn, moving)
        there = _still_there(conn, work.data)
    for resource_id, what in list(moving.items()):
        op = last.get(resource_id)
        if op is not None and op.state == operations.OPEN:
            what.percent = (Reached.from_json(op.data).progress or Progress()).percent
            continue
        del moving[resource_id]
        if resource_id not in there or (op is not None and op.state == operations.DONE):
            work.data.moved += 1
            _count(work, what.size)
        else:
            _stays(work, resource_id, _failure(op))


def _still_there(conn: Connection, data: Evacuate) -> set[str]:
    """Return the ids of those resources under way that are on the host."""
    return {
        resource_id
        for type_ in _REQUESTS
        for resource_id in queries.still_there(
            conn, data.host, type_, [key for key, what in data.moving.items() if what.type == type_]
        )
    }


def _failure(op: Any) -> str:
    if op is None:
        return 'The record of its migration was deleted.'
    kept = ' Everything is kept: repeat migration_complete.' if Reached.from_json(op.data).cut else ''
    return f'Its migration failed: {op.error or "for no known reason"}{kept}'


def _stays(work: Work[Evacuate], resource_id: str, reason: str) -> None:
    LOG.warning('%s: cannot leave %s: %s', resource_id, work.data.host, reason)
    if len(work.data.left) < _KEPT:
        work.data.left[resource_id] = reason


# Next ones ----------------------------------------------------------------------------------------


def _advance(work: Work[Evacuate]) -> None:
    """Begin migrations, in the order of resources, until as many as allowed are under way.

    :raises errors.LostClaim: the evacuation was stopped, or another scheduler goes on with it.
    """
    data = work.data
    while len(data.moving) < data.at_once and not data.through:
        with work.ctx.db.reader() as conn:
            rows = queries.list_after(conn, data.host, data.after, data.at_once)
            last = queries.last_migrations(conn, [row.id for row in rows])
        data.through = not rows
        for row in rows:
            if len(data.moving) >= data.at_once:
                return
            _take(work, row, last.get(row.id))
            data.after = (queries.TYPES[row.rank], row.id)
            _measure(work)
            with work.ctx.db.writer() as conn:
                work.save(conn)


def _take(work: Work[Evacuate], row: Any, op: Any) -> None:
    """Begin to move the resource, a row of ``list_after`` with its last migration, or keep the reason why it stays."""
    type_ = queries.TYPES[row.rank]
    if type_ in _STAYS:
        _stays(work, row.id, _STAYS[type_].format(id=row.id, host=row.host))
    elif op is not None and op.state == operations.OPEN:
        # Begun by this evacuation just before a crash, or by one that was stopped.
        migration = Migrate.from_json(op.data)
        if migration.evacuation and not work.data.dry_run:
            _note(work, row, type_, migration.to)
        else:
            _stays(
                work,
                row.id,
                f'It is being migrated to {migration.to} already: complete or cancel that migration.',
            )
    elif refusal := _move(work, row, type_):
        _stays(work, row.id, refusal)
    if work.data.dry_run:
        _count(work, row.size)


def _count(work: Work[Evacuate], size: int) -> None:
    """Count one resource as done: it has moved, or the plan has looked at it."""
    work.data.progress.done += 1
    work.data.progress.gib_done += size


def _move(work: Work[Evacuate], row: Any, type_: str) -> str | None:
    """Begin to move the resource to the best backend that can take it. Return why none can, or None.

    :raises errors.Again: too many requests wait for backends.
    """
    found, ctx = evacuation_targets.find(work, row, type_), _owner(work, row)
    refusal = found.refusal
    if not found.targets and found.any_backend:
        refusal = _objection(ctx, row, type_, found.any_backend) or refusal
    for target in found.targets:
        try:
            (_plan if work.data.dry_run else _begin)(work, ctx, row, type_, target)
        except errors.Busy as busy:
            raise errors.Again(_PAUSE) from busy
        except _REFUSALS as refused:
            refusal = str(refused)
        else:
            return None
    return refusal


def _objection(ctx: context.RequestContext, row: Any, type_: str, host: str) -> str | None:
    """Return why the resource could move nowhere, also not to a backend with room for it. Or None."""
    wanted = {'host': host, 'writable': False, 'nondisruptive': False, 'preserve_snapshots': True}
    try:
        with ctx.db.reader() as conn:
            _REQUESTS[type_].examine(conn, ctx, row.id, wanted)
    except _REFUSALS as refused:
        return str(refused)
    return None


def _owner(work: Work[Evacuate], row: Any) -> context.RequestContext:
    """Return an administrator's context in which the owner of the resource gets the messages about its migration."""
    ctx = work.ctx.elevated()
    ctx.project_id = row.project_id
    return ctx


def _wanted(work: Work[Evacuate], target: evacuation_targets.EvacuationTarget) -> dict[str, Any]:
    return {
        'host': target.to,
        'preserve_snapshots': target.has_snapshots,
        'writable': work.data.writable,
        'nondisruptive': work.data.nondisruptive,
        **({'assist': migration_targets.MAY} if work.data.by_host else {}),
    }


def _begin(
    work: Work[Evacuate],
    ctx: context.RequestContext,
    row: Any,
    type_: str,
    target: evacuation_targets.EvacuationTarget,
) -> None:
    if target.must_be_writable:  # else the migration would wait for a backend that may never be up again
        _ask(work, ctx, row, type_, target)
    _REQUESTS[type_].start(
        ctx, row.id, {**_wanted(work, target), 'by_itself': True, 'evacuation': work.op.id}
    )
    _note(work, row, type_, target.to)


def _note(work: Work[Evacuate], row: Any, type_: str, to: str) -> None:
    work.data.moving[row.id] = Moving(type_, to, row.size)


def _ask(
    work: Work[Evacuate],
    ctx: context.RequestContext,
    row: Any,
    type_: str,
    target: evacuation_targets.EvacuationTarget,
) -> Answer:
    """Return what the destination's backend supports for this move.

    :raises errors.Conflict: the move needs the backend that the resource leaves, and that is down.
    """
    requests = _REQUESTS[type_]
    support: Answer = requests.try_out(ctx, row.id, _wanted(work, target))[1]
    if target.must_be_writable and not support.writable:
        raise errors.Conflict(
            f'{row.host} is down, and has to make access rules read-only before {row.id} is copied to '
            f'{target.to}: start its share manager.'
        )
    return support


def _plan(
    work: Work[Evacuate],
    ctx: context.RequestContext,
    row: Any,
    type_: str,
    target: evacuation_targets.EvacuationTarget,
) -> None:
    support = _ask(work, ctx, row, type_, target)
    for pool, size in target.claims.items():
        work.data.claims[pool] = work.data.claims.get(pool, 0) + size
    if len(work.data.plan) < _KEPT:
        work.data.plan[row.id] = {
            'resource_type': type_,
            'project_id': row.project_id,
            'from': row.host,
            'to': target.to,
            'shares': row.shares,
            'size': row.size,
            'writable': support.writable,
            'clients': _effect(type_, support),
        }


def _effect(type_: str, support: Answer) -> str:
    """Return what clients notice: nothing, a pause at the same addresses, or other export paths."""
    if support.nondisruptive:
        return 'unaffected'
    return 'pause' if type_ == queries.SERVER and not support.by_host else 'mount again'


# Progress and end ---------------------------------------------------------------------------------


def _measure(work: Work[Evacuate]) -> None:
    """Set the figures of the progress, in resources and GiB.

    A resource that left the host after the last look is neither on it nor done.
    """
    data, progress = work.data, work.data.progress
    with work.ctx.db.reader() as conn:
        count, size = queries.count(conn, data.host)
        there = _still_there(conn, data)
    if not data.dry_run:
        gone = [what.size for resource_id, what in data.moving.items() if resource_id not in there]
        count, size = count + progress.done + len(gone), size + progress.gib_done + sum(gone)
    done = progress.gib_done + sum(what.size * what.percent / 100 for what in data.moving.values())
    took = timeutils.utcnow_ts(microsecond=True) - data.began
    data.progress = Figures(
        progress.done,
        progress.gib_done,
        total=max(count, progress.done),
        percent=min(int(100 * done / size), 100) if size else 100,
        left=len(data.left),
        moving=len(data.moving),
        seconds_left=round(took * (size - done) / done) if done and size > done else None,
    )


def _conclude(work: Work[Evacuate]) -> None:
    """End the pass over all resources.

    :raises errors.Again: some moved and others did not, which are tried once more.
    :raises errors.Final: none of those that are left can move.
    """
    data = work.data
    with work.ctx.db.reader() as conn:
        left, _size = queries.count(conn, data.host)
    if left and data.moved:
        data.after, data.through, data.moved, data.left = START, False, 0, {}
        raise errors.Again(_PAUSE)
    _remove_empty_servers(work)
    if left:
        reason = next(iter(data.left.values()), 'They came while the others were moved.')
        raise errors.Final(
            f'{left} of {left + data.progress.done} share servers and shares stay on {data.host}. '
            f'The first reason: {reason}'
        )


def _remove_empty_servers(work: Work[Evacuate]) -> None:
    """Delete share servers without shares, which have nothing to move."""
    with work.ctx.db.reader() as conn:
        rows = queries.list_empty_servers(conn, work.data.host, _KEPT)
    for row in rows:
        try:
            share_servers.delete(_owner(work, row), row.id)
        except _REFUSALS as refused:
            LOG.info('%s: is empty, and stays on %s: %s', row.id, work.data.host, refused)


def done(conn: Connection, work: Work[Evacuate]) -> None:
    """Tell others that the host is empty, or that the plan is made."""
    operation_claims.move(conn, work.op.id, work.op.owner, data=work.data.to_json())
    if not work.data.dry_run:
        workflow.announce(work.ctx, work.data, 'end')


def failed(conn: Connection, work: Work[Evacuate], error: Exception) -> None:
    """Tell others that something stays on the host."""
    if not work.data.dry_run:
        workflow.announce(work.ctx, work.data, 'error', errors.reason(error, work.ctx.request_id))


PLANS = [Plan(queries.KIND, (Step(evacuate),), done, failed, data=Evacuate)]
