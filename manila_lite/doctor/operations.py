# SPDX-License-Identifier: Apache-2.0
"""Open and parked operations: which worker runs them, or why none does."""

import collections
import dataclasses
import datetime
import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from manila_lite import context, errors
from manila_lite.db.core.engine import Connection, Row
from manila_lite.db.doctor import operations as operation_findings
from manila_lite.db.queries import operations, services
from manila_lite.doctor import recovery, stuck_migrations
from manila_lite.doctor.finding import Finding, Mend, RepairContext
from manila_lite.engine import process_names, wake_up
from manila_lite.rpc import TOPICS

#: The time a worker may take to see that work is due: in poll intervals, and at least in seconds.
_POLLS, _LEAST = 3, 5.0
#: No try is put off for more seconds than this, unless a clock was wrong.
_FAR = 3600.0


@dataclasses.dataclass(frozen=True)
class _World:
    """Facts about services and other operations, to judge one operation by."""

    now: datetime.datetime
    grace: float
    up: dict[tuple[str, str], bool]  # (binary, host) -> is it up
    clocks: dict[tuple[str, str], str]  # (binary, host) -> why its clock keeps it from work
    busy: collections.Counter[Any]  # (topic, host, lane) -> operations being worked on
    mutex_keys: dict[str, str]  # mutex key -> the operation of it that is being worked on
    unwanted: set[str]  # migrations that can be cancelled by force, and were to end

    def has_lease(self, op: Row[Any]) -> bool:
        return bool(op.owner and op.lease_expires_at and op.lease_expires_at >= self.now)


@dataclasses.dataclass(frozen=True)
class _Verdict:
    why: str
    wrong: bool = False
    mend: Mend | None = None


def find(conn: Connection, repair: RepairContext) -> Iterator[Finding]:
    """Yield every operation that has not ended."""
    rows = operation_findings.list_operations(conn)
    world = _world(conn, repair, rows, stuck_migrations.unwanted(conn, rows))
    for op in rows:
        verdict = _judge(op, world)
        yield Finding(
            'operation',
            op.id,
            op.state,
            verdict.why,
            verdict.wrong,
            about=f'{op.kind} {op.resource_id}',
            project_id=op.project_id,
            age=repair.age(op.created_at),
            attempts=op.attempts,
            owner=op.owner,
            lease_left=(op.lease_expires_at - world.now).total_seconds() if op.lease_expires_at else None,
            error=op.error,
            mend=verdict.mend,
        )


def _world(conn: Connection, repair: RepairContext, rows: Iterable[Row[Any]], unwanted: set[str]) -> _World:
    conf = repair.services.conf
    known = {(row.binary, row.host): row for row in services.list_services(conn)}
    up = {key: services.is_up(row, conf.service_down_time) for key, row in known.items()}
    clocks = {
        key: fault
        for key, row in known.items()
        if (fault := services.clock_fault(row, conf.service_down_time, conf.operations.max_clock_difference))
    }
    grace = max(_POLLS * conf.operations.poll_interval, _LEAST)
    world = _World(repair.now, grace, up, clocks, collections.Counter(), {}, unwanted)
    for op in rows:
        if op.state == operations.OPEN and world.has_lease(op):
            world.busy[op.topic, op.host, op.lane] += 1
            world.mutex_keys[op.mutex_key] = op.id
    return world


def _judge(op: Row[Any], world: _World) -> _Verdict:
    if op.state == operations.PARKED:
        return _Verdict(
            f'is parked: {op.error or "nobody can carry it out"}',
            wrong=True,
            mend=functools.partial(recovery.mend_parked, op=op),
        )
    down = _nobody(op, world)
    if down and op.host and stuck_migrations.is_cancellable(op):
        return _Verdict(
            f'{down}, or cancel it: manila-manage migration cancel --force {op.resource_id}',
            wrong=True,
            mend=functools.partial(stuck_migrations.cancel, op=op) if op.id in world.unwanted else None,
        )
    if op.owner:
        return _claimed(op, world)
    left = (op.next_run_at - world.now).total_seconds()
    if left > _FAR:
        return _Verdict(f'is put off for {left:.0f} s: was a clock wrong?', wrong=True, mend=_hasten(op))
    if left > 0:
        return _Verdict(f'looks again in {left:.0f} s')
    return _due(op, world, -left)


def _claimed(op: Row[Any], world: _World) -> _Verdict:
    if process_names.is_dead(op.owner):
        return _Verdict(f'{op.owner}, which worked on it, is dead', wrong=True, mend=_free(op))
    if world.has_lease(op):
        return _Verdict(f'{"is being undone" if op.undoing else "is being worked on"} by {op.owner}')
    over = (world.now - op.lease_expires_at).total_seconds() if op.lease_expires_at else world.grace
    return _Verdict(
        f'the lease of {op.owner} ran out {over:.0f} s ago',
        wrong=over >= world.grace,
        mend=_free(op) if over >= world.grace else None,
    )


def _due(op: Row[Any], world: _World, since: float) -> _Verdict:
    down = _nobody(op, world)
    other = world.mutex_keys.get(op.mutex_key) if op.mutex_key else None
    busy = world.busy[op.topic, op.host, op.lane]
    if down:
        verdict = _Verdict(down, wrong=True)
    elif other:
        verdict = _Verdict(f'waits for its turn behind operation {other}')
    elif since < world.grace:
        verdict = _Verdict('is due')
    elif busy:
        verdict = _Verdict(
            f'waits for a free worker of {_queue(op)}, which runs {errors.count(busy, "other")}'
        )
    else:
        verdict = _Verdict(
            f'is due for {since:.0f} s, but {_queue(op)} does not claim it: see its log',
            wrong=True,
            mend=_hasten(op),
        )
    return verdict


def _queue(op: Row[Any]) -> str:
    return f'{TOPICS[op.topic]} on {op.host}' if op.host else TOPICS.get(op.topic, op.topic)


def _nobody(op: Row[Any], world: _World) -> str | None:
    """Return why no service is there to run the operation, or None if there is one."""
    binary = TOPICS.get(op.topic)
    if binary is None:
        return f'waits for a service {op.topic!r}, which this release does not have'
    known = {key: up for key, up in world.up.items() if key[0] == binary and op.host in ('', key[1])}
    if any(up and key not in world.clocks for key, up in known.items()):
        return None
    if wrong := next((key for key in known if key in world.clocks), None):
        return f'waits for {binary} on {wrong[1]}, which claims no work: {world.clocks[wrong]}; set the clock'
    if not op.host:
        return f'waits for a {binary}, and none is up: start one'
    if known:
        return f'waits for {binary} on {op.host}, which is down: start it'
    command = 'share_backup' if op.resource_type == 'share_backup' else 'share'
    return (
        f'waits for {binary} on {op.host}, which is not known: start it, or give what it has to another with '
        f'"manila-manage {command} update_host"'
    )


def _free(op: Row[Any]) -> Mend:
    return functools.partial(
        _go_on, op=op, change=operation_findings.drop_claim, said='its claim is free again'
    )


def _hasten(op: Row[Any]) -> Mend:
    return functools.partial(
        _go_on, op=op, change=operation_findings.make_due, said='is due now, and its worker was told'
    )


def _go_on(
    conn: Connection,
    repair: RepairContext,
    op: Row[Any],
    change: Callable[[Connection, Any], bool],
    said: str,
) -> str | None:
    """Change the operation, if it did not change since, and wake its worker."""
    if not change(conn, op):
        return None
    wake_up(context.admin(repair.services), op.topic, op.host, op.id, op.lane)
    return said
