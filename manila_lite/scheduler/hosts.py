# SPDX-License-Identifier: Apache-2.0
"""What backends reported, as filters see it, kept from one request to the next.

The table is the truth: a scheduler that just started knows everything. What is kept may be a second old. That never
promises room twice, since the claim of it is decided in the table; and who finds no pool looks again at what is there
now (``not_before``) before saying so.
"""

import dataclasses
import datetime
import itertools
import math
import operator
from typing import Any, NamedTuple

from oslo_utils import timeutils

from manila_lite.db import services
from manila_lite.db.engine import Connection
from manila_lite.operations.machine import REAL, Machine
from manila_lite.scheduler.interface import PoolState
from manila_lite.scheduler.placement import Groups

#: Seconds after which it is looked what has changed; sooner if a look is cheap: looks take a fiftieth of the time.
_OLDEST = 1.0
_LOOKS = 50
#: Above so many changed pools, all are read.
_MANY = 500


class Hosts:
    """Every pool that backends reported. Safe for many threads."""

    def __init__(self, down_time: float, machine: Machine = REAL):
        """``down_time``: seconds without a heartbeat after which a service counts as down."""
        self._down_time = down_time
        self._machine = machine
        self._lock = machine.lock()
        self._groups = Groups(())
        self._marks: dict[str, tuple] = {}
        self._alive: dict[str, _Service] = {}
        self._read_at = self._good_until = -math.inf

    def now(self) -> float:
        """Return the time by which ``pools`` goes."""
        return self._machine.monotonic()

    def pools(self, conn: Connection, not_before: float = -math.inf) -> Groups:
        """Return every pool as it was at most a second ago, and not before this time, as ``now`` has it."""
        with self._lock:
            now = self.now()
            if now >= self._good_until or self._read_at < not_before:
                began = self._machine.thread_time()
                self._look(conn)
                self._read_at = now
                self._good_until = now + min(_OLDEST, _LOOKS * (self._machine.thread_time() - began))
            return self._groups

    def claimed(self, pool: PoolState, size: float) -> None:
        """``size`` GiB more of the pool are promised by this scheduler, if its transaction commits: so look again."""
        with self._lock:
            self._groups.replace(pool.promised(claimed_gb=pool.claimed_gb + size))
            self._marks.pop(pool.host, None)

    def _look(self, conn: Connection) -> None:
        """Read marks of all pools. Where one, or the service, differs from before, the pool changes with it; those that
        reported anew are read in full.
        """
        now = timeutils.utcnow()
        alive = {row.host: _service(row, self._down_time, now) for row in services.backends(conn)}
        moved = {host for host, service in alive.items() if self._alive.get(host) != service}
        marks = {mark[0]: mark for mark in services.pool_marks(conn) if mark[1] in alive}
        changed = self._changed(marks, moved)
        if changed or len(marks) != self._groups.count:
            self._update(conn, marks, changed, alive)
        self._alive, self._marks = alive, marks

    def _changed(self, marks: dict[str, tuple], moved: set[str]) -> list[tuple]:
        """Return marks that differ from what was seen before, and those of backends that ``moved``."""
        if moved:
            return [mark for host, mark in marks.items() if self._marks.get(host) != mark or mark[1] in moved]
        # The same without a step of Python for each of ten thousand pools.
        return list(itertools.compress(marks.values(), map(operator.ne, marks.values(), map(self._marks.get, marks))))

    def _update(self, conn: Connection, marks: dict[str, tuple], changed: list[tuple], alive: dict[str, '_Service']) -> None:
        """The pools are as their marks and services say; one that is new or reported anew is read."""
        fresh: dict[str, PoolState] = {}
        unread = []
        for host, backend, generation, claimed, allocated, provisioned in changed:
            old = self._groups.get(host)
            if old is None or old.generation != generation:
                unread.append(host)
            else:
                fresh[host] = dataclasses.replace(old, claimed_gb=claimed, allocated_gb=allocated,
                                                  provisioned_gb=provisioned, **alive[backend]._asdict())
        for row in services.pools(conn, unread if len(unread) <= _MANY else None) if unread else ():
            if row.host in marks:
                fresh[row.host] = _state(row, alive[row.backend_host])
        if len(marks) == self._groups.count and all(self._groups.fits(pool) for pool in fresh.values()):
            for pool in fresh.values():
                self._groups.replace(pool)
        else:
            known = {pool.host: pool for pool in self._groups if pool.host in marks}
            self._groups = Groups((known | fresh).values())


class _Service(NamedTuple):
    """What a pool has from its service, under its own names for it."""

    up: bool
    disabled: bool
    availability_zone: str | None
    availability_zone_id: str | None


def _service(row: Any, down_time: float, now: datetime.datetime | None = None) -> _Service:
    return _Service(services.is_up(row.heartbeat_at, row.stopped, down_time, now), row.disabled, row.zone, row.zone_id)


def one(conn: Connection, host: str, down_time: float) -> PoolState | None:
    """Return a pool as it is now, if there is one of that host string."""
    return next((_state(row, _service(row, down_time)) for row in services.pools(conn, [host])), None)


def _state(row: Any, service: _Service) -> PoolState:
    return PoolState(
        host=row.host, capabilities=row.capabilities, total_gb=row.total_gb, free_gb=row.free_gb,
        reserved_percentage=row.reserved_percentage, allocated_gb=row.allocated_gb, claimed_gb=row.claimed_gb,
        thin_provisioning=row.thin_provisioning, max_over_subscription_ratio=row.max_over_subscription_ratio,
        provisioned_gb=row.provisioned_gb, generation=row.generation, **service._asdict())
