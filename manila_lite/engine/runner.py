# SPDX-License-Identifier: Apache-2.0
"""The runner: it finds operations of one queue, claims them and renews the claims."""

import concurrent.futures
import functools
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from oslo_db.exception import DBDeadlock
from oslo_log import log
from oslo_utils import timeutils

from manila_lite import context, errors, metrics, trace
from manila_lite.db.core.engine import TRANSIENT, Connection
from manila_lite.db.queries import operation_claims as claims
from manila_lite.db.queries import operations as rows
from manila_lite.engine.batches import Batches
from manila_lite.engine.environment import REAL, Environment, Thread
from manila_lite.engine.executor import Executor
from manila_lite.engine.plans import EXCLUSIVE, FAST, WORK, Plan
from manila_lite.engine.search import Outcome, Search
from manila_lite.engine.thread_slots import ThreadSlots

LOG = log.getLogger(__name__)

#: Seconds from one look to the next, at least, while there is work. In a burst, after a look that took several operations and
#: left none, the next one comes later: it finds several again, for the statements of one.
_GATHER, _GATHER_IN_BURST = 0.01, 0.04


class Runner:
    """Runner of the operations of one queue (``topic``, ``host``), with a bounded number of threads per lane."""

    def __init__(
        self,
        services: context.Services,
        topic: str,
        host: str,
        plans: Iterable[Plan[Any]],
        service: Any,
        environment: Environment = REAL,
    ):
        self.services = services
        self._environment = environment
        self.topic = topic
        self.host = host
        self.conf = services.conf.operations
        self.owner = environment.name()
        self.executor = Executor(
            services, self.owner, {plan.kind: plan for plan in plans}, service, environment
        )
        self._batches = Batches(self.executor)
        metrics.expect((*self.executor.plans, metrics.OTHER), rows.ENDED)
        self._slots = ThreadSlots(
            {WORK: self.conf.workers, FAST: self.conf.fast_workers, EXCLUSIVE: 1},
            self.conf.reserved_workers,
            environment,
        )
        self._pools: dict[str, concurrent.futures.Executor] = {}
        self._unsaved: dict[str, bool] = {}  # operation id -> whether its try does not count
        self._are_waiting = False  # operations wait for a thread, or may do so, by the last look
        self._found_at = -math.inf  # when, by the monotonic clock, there was work
        self._lock = environment.lock()
        self._due: set[float] = set()  # when, by the monotonic clock, released operations are due again
        self._stopped = environment.event()
        self._poke = environment.event()
        self._skipped = False  # a wake-up came for lanes without a free thread
        self._urgent = environment.event()  # a wake-up came for work that must not wait
        self._gather = _GATHER
        #: Asked before and after each claim: another process may have taken over the backend.
        self.may_claim: Callable[[], bool] = lambda: True
        #: Asked before each look for work: leases are times, and this host's clock may be wrong.
        self.clock_agrees: Callable[[], bool] = lambda: True
        #: Whether no other process can be at the work of this queue once this one takes over: claims of others are void then.
        self.works_alone = False
        self._drained = environment.event()
        self._threads: dict[str, Thread] = {}

    # Start and stop ---------------------------------------------------------------------------

    def start(self) -> None:
        """Free the claims of dead processes of this host, and begin to work on the queue."""
        self.take_over()
        for lane, workers in self._slots.workers.items():
            self._pools[lane] = self._environment.executor(workers, f'{self.topic}-{lane}')
        for target, name in ((self._poll, 'poll'), (self._renew, 'lease')):
            self._threads[name] = self._environment.thread(target, f'{self.topic}-{name}')

    def stop(self) -> None:
        """Claim no new operations, and wait until the running ones are finished."""
        self._stopped.set()
        self._urgent.set()
        self._poke.set()
        if self._threads:
            self._threads['poll'].join()
        for pool in self._pools.values():
            pool.shutdown(wait=True)
        self._drained.set()  # until now leases were renewed
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
        """Free the claims of dead processes of this host, so that their operations do not wait until the leases run out. If
        this process works alone, free those of all others: their hosts have let go of the storage.
        """
        with self.services.db.writer() as conn:
            for owner in claims.claim_owners(conn, self.topic, self.host):
                if owner != self.owner and (self.works_alone or self._environment.is_dead(owner)):
                    count = claims.free_claims_of(conn, owner)
                    LOG.warning(
                        '%s operations of %s are taken over: that process does not work there any more',
                        count,
                        owner,
                    )

    def wake(self, lanes: Iterable[str] = ()) -> None:
        """Look for work now, or as soon as one of these lanes, if any are named, has a free thread."""
        named = set(lanes)
        if FAST in named:
            self._urgent.set()
        if named:
            self._skipped = True  # before the question: a thread that is freed at this moment has to see it
            if self._slots.are_busy(named):
                return
        self._poke.set()

    @property
    def busy(self) -> int:
        """The number of operations that run at this moment."""
        return len(self._slots)

    # Finding work -----------------------------------------------------------------------------

    def _poll(self) -> None:
        while not self._stopped.is_set():
            try:
                self._release_unsaved()
                while not self._stopped.is_set() and self._find_work_in_time():
                    pass
            except DBDeadlock:
                # Two workers looked at the same moment, and the database ended the transaction of this one.
                LOG.info(
                    'Looking for work met another worker; the next look is in %s s', self.conf.poll_interval
                )
            except Exception:
                LOG.exception('Looking for work failed; the next look is in %s s', self.conf.poll_interval)
            self._poke.wait(self._pause())
            self._poke.clear()

    def _find_work_in_time(self) -> bool:
        """Look for work. After a look that found some, pause first, so that one look finds work for many threads.

        A wake-up for quick work (``FAST``) ends the pause.
        """
        self._urgent.wait(max(0.0, self._found_at + self._gather - self._environment.monotonic()))
        self._urgent.clear()
        found = self._find_work()
        if found or self._slots:
            self._found_at = self._environment.monotonic()
        return found

    def _pause(self) -> float:
        """Return the seconds until the next look: the poll interval, or less if an operation is known to be due before."""
        now = self._environment.monotonic()
        with self._lock:
            first = min(self._due, default=now + self.conf.poll_interval)
            self._due = {at for at in self._due if at > now}
        return float(min(self.conf.poll_interval, max(0.0, first - now)))

    def _due_in(self, seconds: float) -> None:
        with self._lock:
            self._due.add(self._environment.monotonic() + seconds)
        self._poke.set()

    def _release_unsaved(self) -> None:
        """Release operations that could not be saved, since the database was away, before their lease runs out."""
        for operation_id, uncounted in list(self._unsaved.items()):
            release = functools.partial(
                claims.release_unsaved,
                operation_id=operation_id,
                owner=self.owner,
                after=self.conf.retry_delay,
                uncounted=uncounted,
            )
            self.services.db.write(release)
            del self._unsaved[operation_id]

    def _find_work(self) -> bool:
        """Take as many operations as there are free threads. Say whether another look at once would find more."""
        if not (self.clock_agrees() and self.may_claim()):
            return False
        self._skipped = False
        search = self._search()
        try:
            search.book()
        except Exception:
            self._drop(entry.id for entry in search.booked)
            raise
        taken = self._take(search.booked)
        outcome = search.outcome(taken)
        self._are_waiting = outcome is not Outcome.NOTHING
        if self._are_waiting and self._slots.drops != search.drops:
            self._poke.set()  # a thread was freed during this look, when nobody knew yet that there is work for it
        self._gather = _GATHER_IN_BURST if taken > 1 and not search.left else _GATHER
        return outcome is Outcome.MORE

    def _search(self) -> Search:
        return Search(self.services.db, self.topic, self.host, self._slots, self._unsaved)

    def _drop(self, operation_ids: Iterable[str]) -> None:
        freed = list(operation_ids)
        for operation_id in freed:
            self._slots.drop(operation_id)
        if freed and (self._are_waiting or self._skipped):
            self._poke.set()

    # Claims -----------------------------------------------------------------------------------

    def _take(self, entries: list[Any]) -> int:
        """Claim the operations, and run them or set them aside. Return how many were free to claim."""
        if not entries:
            return 0
        try:
            ops = self._claim(entries)
        except errors.LostClaim as lost:
            self._drop(entry.id for entry in entries)
            LOG.info(
                '%s: %s', ', '.join(entry.resource_id for entry in entries), lost
            )  # the backend was passed on
            return 0
        except ValueError as bad:
            if len(entries) > 1:  # one of them has data that cannot be read
                return self._take_each(entries)
            self._drop(entry.id for entry in entries)
            self._set_aside(entries[0], bad)
            return 1
        except Exception as error:
            # The claim may have been committed although nobody said so. What is not this owner's is not released.
            self._unsaved.update(dict.fromkeys((entry.id for entry in entries), isinstance(error, TRANSIENT)))
            self._drop(entry.id for entry in entries)
            raise
        self._drop({entry.id for entry in entries} - {op.id for op in ops})
        loaded = self._batches.prepare(ops)
        for batch in self._batches.split(ops):
            self._pools[batch[0].lane].submit(self._work, batch, loaded)
        return len(ops)

    def _take_each(self, entries: list[Any]) -> int:
        """Do as ``_take`` for one after the other."""
        left, taken = list(entries), 0
        try:
            while left:
                taken += self._take([left.pop(0)])
        finally:
            self._drop(entry.id for entry in left)
        return taken

    def _claim(self, entries: list[Any]) -> list[Any]:
        def claim(conn: Connection) -> list[Any]:
            ops = claims.claim_many(
                conn,
                [(entry, self.executor.step_values(entry)) for entry in entries],
                self.owner,
                self.conf.lease,
            )
            if not self.may_claim():
                raise errors.LostClaim(f'{len(ops)} operations are left to whoever works here now.')
            return ops

        claimed: list[Any] = self.services.db.write(claim)
        return claimed

    def _set_aside(self, entry: Any, bad: ValueError) -> None:
        LOG.error(
            '%s: operation %s is set aside: its data cannot be read: %s', entry.resource_id, entry.id, bad
        )
        self.services.db.write(lambda conn: claims.park(conn, entry, f'Its data cannot be read: {bad}'))
        metrics.ended(metrics.OTHER, rows.PARKED, 0.0)

    def _renew(self) -> None:
        while not self._drained.wait(self.conf.lease / 3):
            mine = self._slots.operations()
            if not mine:
                continue
            try:
                self.services.db.write(
                    functools.partial(
                        claims.renew, operation_ids=mine, owner=self.owner, lease=self.conf.lease
                    )
                )
            except Exception:
                LOG.exception('Renewing the leases of %s operations failed', len(mine))

    def _work(self, ops: list[Any], loaded: Mapping[str, Any]) -> None:
        left = self._work_together(ops) if self._batches.takes_many(ops[0]) else ops
        here = left[:1]
        for op in left[1:]:
            try:
                self._pools[op.lane].submit(self._work_alone, op, None)  # each has a thread of its own
            except RuntimeError:
                here.append(op)  # the runner is being stopped
        for op in here:
            self._work_alone(op, loaded.get(op.id))

    def _work_together(self, ops: list[Any]) -> list[Any]:
        """Run the operations at once, as far as possible; return the others."""
        kind, began = ops[0].kind, self._environment.monotonic()
        waited = [(timeutils.utcnow() - op.next_run_at).total_seconds() for op in ops]
        with context.working(context.of_operation(ops[0], self.services), f'{kind}: {len(ops)} operations'):
            left = self._batches.run(ops)
        behind = {op.id for op in left}
        self._drop(op.id for op in ops if op.id not in behind)
        for op, seconds in zip(ops, waited, strict=True):
            if op.id not in behind:
                metrics.claimed(kind, seconds)
                metrics.ran(kind, self._environment.monotonic() - began)
        return left

    def _work_alone(self, op: Any, loaded: Any) -> None:
        kind = op.kind if op.kind in self.executor.plans else metrics.OTHER
        began = self._environment.monotonic()
        metrics.claimed(kind, (timeutils.utcnow() - op.next_run_at).total_seconds())
        with (
            context.working(context.of_operation(op, self.services), f'{op.kind} {op.id}'),
            trace.resumed(self.services.conf, op.data, 'operation', kind=op.kind, resource=op.resource_id),
        ):
            self._work_on(op, loaded)
        metrics.ran(kind, self._environment.monotonic() - began)

    def _work_on(self, op: Any, loaded: Any) -> None:
        again = None
        try:
            again = self.executor.run(op, loaded)
        except errors.LostClaim:
            self._say_lost(op)
        except Exception as error:
            LOG.exception('%s: %s could not be saved and will be tried again', op.resource_id, op.kind)
            self._unsaved[op.id] = isinstance(error, TRANSIENT)
            again = self.conf.retry_delay
        finally:
            self._drop([op.id])
        if again is not None:
            self._due_in(again)

    def _say_lost(self, op: Any) -> None:
        """Log that the operation was lost. That is normal if a request ended it: a reset, a deletion by force, a cancellation,
        or a check whose client gave up. Otherwise the lease of this process ran out.
        """
        try:
            with self.services.db.reader() as conn:
                now = rows.get(conn, op.id)
        except Exception as away:  # without the row, only the log line says less
            LOG.warning(
                '%s: %s (operation %s) is no longer ours. Why cannot be read: %s',
                op.resource_id,
                op.kind,
                op.id,
                away,
            )
            return
        if now is None or (now.state == rows.FAILED and now.error_code in rows.BY_REQUEST):
            LOG.info('%s: %s (operation %s) was ended by a request', op.resource_id, op.kind, op.id)
        else:
            LOG.warning(
                '%s: %s (operation %s) is no longer ours: another worker took it over. This process stood still, or '
                'the database did not answer it, for longer than [operations] lease',
                op.resource_id,
                op.kind,
                op.id,
            )
