# SPDX-License-Identifier: Apache-2.0
"""The runner: it finds operations of one queue, claims them and renews the claims."""

import concurrent.futures
import math
from collections.abc import Callable, Iterable
from typing import Any

from oslo_log import log
from oslo_utils import timeutils

from manila_lite import context, errors, metrics, trace
from manila_lite.db.core.engine import TRANSIENT
from manila_lite.db.queries import operations as rows
from manila_lite.db.queries import project_turns
from manila_lite.engine.environment import REAL, Environment, Thread
from manila_lite.engine.executor import Executor
from manila_lite.engine.plans import EXCLUSIVE, FAST, WORK, Plan

LOG = log.getLogger(__name__)


class Runner:
    """Runner of the operations of one queue (``topic``, ``host``), with a bounded number of threads per lane."""

    def __init__(self, services: context.Services, topic: str, host: str, plans: Iterable[Plan], service: Any,
                 environment: Environment = REAL):
        self.services = services
        self._environment = environment
        self.topic = topic
        self.host = host
        self.conf = services.conf.operations
        self.owner = environment.name()
        self.executor = Executor(services, self.owner, {plan.kind: plan for plan in plans}, service)
        self._workers = {WORK: self.conf.workers, FAST: self.conf.fast_workers, EXCLUSIVE: 1}
        self._kept = {lane: kept(workers, self.conf.reserved_workers) for lane, workers in self._workers.items()}
        self._most = sum(self._workers.values()) + 1      # operations that one look finds
        self._pools: dict[str, concurrent.futures.Executor] = {}
        self._lock = environment.lock()
        self._running: dict[str, tuple[str, str | None]] = {}   # operation id -> (lane, serial)
        self._unsaved: dict[str, bool] = {}     # operation id -> whether its try does not count
        self._more = False      # the last look found more operations than free threads
        self._due: set[float] = set()   # when, by the monotonic clock, released operations are due again
        self._stopped = environment.event()
        self._poke = environment.event()
        self._skipped = False   # a wake-up came for lanes without a free thread
        #: Asked before and after each claim: another process may have taken over the backend.
        self.may_claim: Callable[[], bool] = lambda: True
        self._drained = environment.event()
        self._threads: dict[str, Thread] = {}

    # Start and stop ---------------------------------------------------------------------------

    def start(self) -> None:
        """Free the claims of dead processes of this host, and begin to work on the queue."""
        self.take_over()
        for lane, workers in self._workers.items():
            self._pools[lane] = self._environment.executor(workers, f'{self.topic}-{lane}')
        for target, name in ((self._poll, 'poll'), (self._renew, 'lease')):
            self._threads[name] = self._environment.thread(target, f'{self.topic}-{name}')

    def stop(self) -> None:
        """Claim no new operations, and wait until the running ones are finished."""
        self._stopped.set()
        self._poke.set()
        if self._threads:
            self._threads['poll'].join()
        for pool in self._pools.values():
            pool.shutdown(wait=True)
        self._drained.set()     # until now leases were renewed
        if self._threads:
            self._threads['lease'].join()

    def take_over(self) -> None:
        """Free the claims of dead processes of this host, if the database answers, and look for work."""
        try:
            self.free_dead_claims()
        except Exception:
            LOG.exception('Claims of dead processes could not be freed; their leases will run out')
        self.wake()

    def free_dead_claims(self) -> None:
        """Free the claims of dead processes of this host, so that their operations do not wait until the leases run out."""
        with self.services.db.writer() as conn:
            for owner in rows.claim_owners(conn, self.topic, self.host):
                if owner != self.owner and self._environment.is_dead(owner):
                    count = rows.free_claims_of(conn, owner)
                    LOG.warning('%s operations of %s are taken over: that process has ended', count, owner)

    def wake(self, lanes: Iterable[str] = ()) -> None:
        """Look for work now, or as soon as one of these lanes, if any are named, has a free thread."""
        named = set(lanes)
        with self._lock:
            taken = [lane for lane, _ in self._running.values()]
            if named and all(taken.count(lane) >= self._workers.get(lane, math.inf) for lane in named):
                self._skipped = True
                return
        self._poke.set()

    @property
    def busy(self) -> int:
        """The number of operations that run at this moment."""
        with self._lock:
            return len(self._running)

    # Finding work -----------------------------------------------------------------------------

    def _poll(self) -> None:
        while not self._stopped.is_set():
            try:
                self._release_unsaved()
                while not self._stopped.is_set() and self._look():
                    pass
            except Exception:
                LOG.exception('Looking for work failed; the next look is in %s s', self.conf.poll_interval)
            self._poke.wait(self._pause())
            self._poke.clear()

    def _pause(self) -> float:
        """Return the seconds until the next look: the poll interval, or less if an operation is known to be due before."""
        now = self._environment.monotonic()
        with self._lock:
            first = min(self._due, default=now + self.conf.poll_interval)
            self._due = {at for at in self._due if at > now}
        return min(self.conf.poll_interval, max(0.0, first - now))

    def _due_in(self, seconds: float) -> None:
        with self._lock:
            self._due.add(self._environment.monotonic() + seconds)
        self._poke.set()

    def _release_unsaved(self) -> None:
        """Release operations that could not be saved, since the database was away, before their lease runs out."""
        for operation_id, uncounted in list(self._unsaved.items()):
            with self.services.db.writer() as conn:
                rows.release_unsaved(conn, operation_id, self.owner, self.conf.retry_delay, uncounted)
            del self._unsaved[operation_id]

    def _look(self) -> bool:
        """Take as many operations as there are free threads. Say whether another look at once would find more."""
        if not self.may_claim():
            return False
        with self._lock:
            self._skipped = False
            # ``_release_unsaved`` knows an operation by its owner alone. If its lease ran out and it were claimed anew here,
            # that new claim would be released.
            running = {*self._running, *self._unsaved}
            busy = {serial for _, serial in self._running.values() if serial}
        free = [lane for lane in self._workers if self._has_thread(lane, 0)]
        scarce = [lane for lane in free if not self._has_thread(lane, 1)]
        entries = self._find(free, scarce, running, busy) if free else []
        taken, left = 0, set()
        for entry in entries:
            # One by one: if a claim fails, the others are not booked and are found again.
            booked = not _before(left, entry) and self._book(entry)
            taken += booked and self._take(entry)
            if entry.more or not booked:
                left.add((entry.lane, entry.running + booked))
        self._more = bool(left or busy) or len(free) - len(scarce) < len(self._workers)
        return taken > 0 and (len(entries) == self._most or any(self._has_thread(*waits) for waits in left))

    def _find(self, free: list[str], scarce: list[str], running: set[str], busy: set[str]) -> list[Any]:
        with self.services.db.reader() as conn:
            return project_turns.list_claimable(conn, self.topic, self.host, self._most, free, scarce=scarce,
                                                skip=running, busy=busy)

    def _has_thread(self, lane: str, running: int) -> bool:
        """Say whether the lane has a thread for a project with so many ``running`` there. Some are for those with none."""
        with self._lock:
            taken = sum(lane == other for other, _ in self._running.values())
        return taken < self._workers[lane] - (self._kept[lane] if running else 0)

    def _book(self, entry: Any) -> bool:
        """Reserve a thread for the operation, if its lane has one for its project and no operation of its serial runs."""
        if not self._has_thread(entry.lane, entry.running):
            return False
        with self._lock:        # no other thread books
            if entry.serial and (entry.lane, entry.serial) in self._running.values():
                return False
            self._running[entry.id] = (entry.lane, entry.serial)
            return True

    def _drop(self, operation_id: str) -> None:
        with self._lock:
            self._running.pop(operation_id, None)
        if self._more or self._skipped:
            self._poke.set()

    def _take(self, entry: Any) -> bool:
        """Claim the operation, and run it or set it aside. Say whether it was free to claim."""
        try:
            with self.services.db.writer() as conn:
                op = rows.claim(conn, entry, self.owner, self.conf.lease, **self.executor.place(entry))
                if not self.may_claim():
                    raise errors.LostClaim(f'Operation {entry.id} is left to whoever works here now.')
        except errors.LostClaim as lost:
            self._drop(entry.id)
            LOG.warning('%s: %s', entry.resource_id, lost)
            return False
        except ValueError as bad:
            self._drop(entry.id)
            self._set_aside(entry, bad)
            return True
        except Exception:
            self._drop(entry.id)
            raise
        if op is None:
            self._drop(entry.id)
            return False
        self._pools[entry.lane].submit(self._work, op)
        return True

    def _set_aside(self, entry: Any, bad: ValueError) -> None:
        LOG.error('%s: operation %s is set aside: its data cannot be read: %s', entry.resource_id, entry.id, bad)
        with self.services.db.writer() as conn:
            rows.park(conn, entry, f'Its data cannot be read: {bad}')
        metrics.ended(metrics.OTHER, rows.PARKED, 0.0)

    def _renew(self) -> None:
        while not self._drained.wait(self.conf.lease / 3):
            with self._lock:
                mine = tuple(self._running)
            if not mine:
                continue
            try:
                with self.services.db.writer() as conn:
                    rows.renew(conn, mine, self.owner, self.conf.lease)
            except Exception:
                LOG.exception('Renewing the leases of %s operations failed', len(mine))

    def _work(self, op: Any) -> None:
        kind = op.kind if op.kind in self.executor.plans else metrics.OTHER
        began = self._environment.monotonic()
        metrics.claimed(kind, (timeutils.utcnow() - op.next_run_at).total_seconds())
        with (context.working(context.of_operation(op, self.services), f'{op.kind} {op.id}'),
              trace.resumed(self.services.conf, op.data, 'operation', kind=op.kind, resource=op.resource_id)):
            self._work_on(op)
        metrics.ran(kind, self._environment.monotonic() - began)

    def _work_on(self, op: Any) -> None:
        again = None
        try:
            again = self.executor.run(op)
        except errors.LostClaim as lost:
            LOG.warning('%s: %s', op.resource_id, lost)
        except Exception as error:
            LOG.exception('%s: %s could not be saved and will be tried again', op.resource_id, op.kind)
            self._unsaved[op.id] = isinstance(error, TRANSIENT)
            again = self.conf.retry_delay
        finally:
            self._drop(op.id)
        if again is not None:
            self._due_in(again)


def _before(left: Iterable[tuple[str, int]], entry: Any) -> bool:
    """Say whether operations wait in that lane for a project that has fewer running."""
    return any(lane == entry.lane and running < entry.running for lane, running in left)


def kept(workers: int, percent: int) -> int:
    """Return how many threads serve only projects with no running operation: this percentage, and never all of them."""
    return min(round(workers * percent / 100), workers - 1)
