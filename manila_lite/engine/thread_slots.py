# SPDX-License-Identifier: Apache-2.0
"""Threads of a runner: which operations have one, and which waiting operations get the free ones."""

import collections
import heapq
import math
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from manila_lite.engine.environment import Environment

#: A lane, and a number of operations of one project that run there.
Waits = tuple[str, int]

#: Seconds after which an operation that was interrupted before has shown that it does not end its process.
_PROVEN = 10.0


class _Held(NamedTuple):
    """An operation with a thread. ``proven_at``: when it has shown that it does not end its process, if that was in doubt."""

    lane: str
    mutex_key: str | None
    proven_at: float | None


class ThreadSlots:
    """The threads of each lane. Some are kept for projects with no running operation there (``reserved`` percent).

    Only one interrupted operation begins at a time. It may end the process again, and then each of the others would lose
    a try, too.
    """

    def __init__(self, workers: Mapping[str, int], reserved: int, environment: Environment):
        self.workers = workers
        self._kept = {lane: kept(count, reserved) for lane, count in workers.items()}
        self._clock = environment.monotonic
        self._lock = environment.lock()
        self._running: dict[str, _Held] = {}  # by operation id
        self.drops = 0  # threads that were freed until now

    def __len__(self) -> int:
        """Return the number of operations that have a thread."""
        with self._lock:
            return len(self._running)

    def operations(self) -> tuple[str, ...]:
        """Return the ids of the operations that have a thread."""
        with self._lock:
            return tuple(self._running)

    def mutex_keys(self) -> set[str]:
        """Return their mutex keys."""
        with self._lock:
            return {held.mutex_key for held in self._running.values() if held.mutex_key}

    def may_begin_interrupted(self) -> bool:
        """Say whether an operation that was interrupted may begin."""
        now = self._clock()
        with self._lock:
            return all(held.proven_at is None or held.proven_at <= now for held in self._running.values())

    def are_busy(self, lanes: Iterable[str]) -> bool:
        """Say whether none of these lanes has a free thread."""
        with self._lock:
            taken = collections.Counter(held.lane for held in self._running.values())
        return all(taken[lane] >= self.workers.get(lane, math.inf) for lane in lanes)

    def has(self, lane: str, running: int, given: int = 0) -> bool:
        """Say whether the lane has a thread, beside ``given`` others, for a project with so many ``running`` there."""
        with self._lock:
            taken = sum(lane == held.lane for held in self._running.values())
        return taken + given < self.workers[lane] - (self._kept[lane] if running else 0)

    def book(self, entry: Any, running: int) -> bool:
        """Reserve a thread for the operation, if its lane has one for its project, and it may run beside the others."""
        if not self.has(entry.lane, running) or (entry.interrupted and not self.may_begin_interrupted()):
            return False
        now = self._clock()
        with self._lock:  # no other thread books
            if entry.mutex_key and any(
                (held.lane, held.mutex_key) == (entry.lane, entry.mutex_key)
                for held in self._running.values()
            ):
                return False
            self._running[entry.id] = _Held(
                entry.lane, entry.mutex_key, now + _PROVEN if entry.interrupted else None
            )
            return True

    def drop(self, operation_id: str) -> None:
        """Free the thread of the operation."""
        with self._lock:
            self._running.pop(operation_id, None)
            self.drops += 1

    def share_out(
        self, booked: Iterable[Any], left: Collection[Waits], most: int
    ) -> dict[tuple[str, str], list[int]]:
        """Return which further operations of the ``booked`` ones' projects would get a thread, if each project had many.

        By lane and project, of ``most`` projects: with how many running operations each of them would begin. Projects
        with the fewest come first, and none goes before operations that are ``left``.
        """
        ranks: dict[tuple[str, str], list[int]] = {}
        for lane in self.workers:
            waiting = [
                (entry.running + 1, number, entry.fair_share_key)
                for number, entry in enumerate(booked)
                if entry.lane == lane and entry.more
            ]
            heapq.heapify(waiting)
            given = 0
            while (
                waiting and self.has(lane, waiting[0][0], given) and not is_behind(left, lane, waiting[0][0])
            ):
                running, number, fair_share_key = heapq.heappop(waiting)
                if len(ranks) < most or (lane, fair_share_key) in ranks:
                    ranks.setdefault((lane, fair_share_key), []).append(running)
                    heapq.heappush(waiting, (running + 1, number, fair_share_key))
                    given += 1
        return ranks


def is_behind(left: Iterable[Waits], lane: str, running: int) -> bool:
    """Say whether operations wait in that lane for a project that has fewer running."""
    return any(lane == other and fewer < running for other, fewer in left)


def kept(workers: int, percent: int) -> int:
    """Return how many threads serve only projects with no running operation: this percentage, and never all of them."""
    return min(round(workers * percent / 100), workers - 1)
