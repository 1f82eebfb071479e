# SPDX-License-Identifier: Apache-2.0
"""Places of an operation where a process can die, computed from its plan."""

import dataclasses
from collections.abc import Iterator
from typing import Any

from manila_lite.manager.runtime import service as manager
from manila_lite.scheduler import service as scheduler

BEFORE = 'before step'
AFTER = 'after step'
RAISED = 'refused in step'
UNDO = 'before undoing step'
UNDONE = 'after undoing step'
DONE = 'end written, not committed'
FAILED = 'failure written, not committed'
ENDED = 'all committed'
COMMITTED = 'committed, not told'
UNCOMMITTED = 'written, not committed'
#: Places of operations that a process has claimed together.
TOGETHER, PASSED, LOADED = 'in a batch, not begun', 'in a batch, passed on, not told', 'in a batch, loaded'
#: No place: a step that is refused by order.
FAILS = 'refuse'

#: Places where a process holds locks of the database.
_LOCKING = (DONE, FAILED, UNCOMMITTED)

#: Role -> its plans by kind, as registered in the code.
PLANS: dict[str, dict[str, Any]] = {
    'scheduler': {plan.kind: plan for plan in scheduler.PLANS},
    'share': {plan.kind: plan for plan in manager.PLANS},
}


def name(role: str, kind: str, what: str, step: str | None = None) -> str:
    """Return a place's name: ``share: snapshot.create: before step create``."""
    return f'{role}: {kind}: {what}' + ('' if step is None else f' {step}')


def committed(role: str) -> str:
    """Return the place after a commit, before any wake-up."""
    return f'{role}: {COMMITTED}'


def uncommitted(role: str) -> str:
    """Return the place where all is written and nothing is committed."""
    return f'{role}: {UNCOMMITTED}'


@dataclasses.dataclass(frozen=True)
class Place:
    """A place in a process of ``role``; to come there, the step ``refused`` must be refused, if given. ``in_timer``: it holds
    the thread of a timer, for which others wait.
    """

    role: str
    what: str
    key: str
    refused: str | None = None
    in_timer: bool = False

    @property
    def locks(self) -> bool:
        """Say whether others wait for it: a transaction is open there, or the thread is one for all."""
        return self.in_timer or any(self.what.startswith(mark) for mark in _LOCKING)


def of_api() -> list[Place]:
    """Return the places in the process that handles the request."""
    return [Place('api', UNCOMMITTED, uncommitted('api')), Place('api', COMMITTED, committed('api'))]


def of_timer() -> list[Place]:
    """Return the places in the scheduler whose timer begins the operation."""
    role = 'scheduler'
    return [
        Place(role, UNCOMMITTED, uncommitted(role), in_timer=True),
        Place(role, COMMITTED, committed(role), in_timer=True),
    ]


def of_batch(role: str, kind: str) -> Iterator[Place]:
    """Yield the places of operations of a plan that run together."""
    plan = PLANS[role][kind]
    for what, there in (
        (TOGETHER, plan.steps[0].many),
        (PASSED, plan.steps[0].many),
        (LOADED, plan.prepare),
        (DONE, plan.done_many),
    ):
        if there:
            yield Place(role, what, name(role, kind, what))


def of_plan(role: str, kind: str, *, passed_on: bool = False, passed_back: bool = False) -> Iterator[Place]:
    """Yield the places of a plan. The operation may be passed on to another process, after success or after failure."""
    plan = PLANS[role][kind]

    def at(what: str, step: str | None = None, refused: str | None = None) -> Place:
        return Place(role, what if step is None else f'{what} {step}', name(role, kind, what, step), refused)

    last = plan.names[-1]
    for step in plan.names:
        yield at(BEFORE, step)
        yield at(AFTER, step)
    yield Place(role, COMMITTED, committed(role)) if passed_on else at(DONE)
    yield at(ENDED)
    for step in plan.names:
        yield at(RAISED, step, refused=step)
    for step in reversed(plan.steps):
        if step.undo:
            yield at(UNDO, step.name, refused=last)
            yield at(UNDONE, step.name, refused=last)
    yield (
        Place(role, f'{COMMITTED} (back)', committed(role), last) if passed_back else at(FAILED, refused=last)
    )
