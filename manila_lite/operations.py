# SPDX-License-Identifier: Apache-2.0
"""Durable work: a row written with the resource, claimed with a lease, run step by step.

* ``begin`` writes the row in the caller's transaction; the wake-up on the bus is only a hint.
* A ``Runner`` claims rows of its queue and runs their ``Plan``. After each step the position and data
  are saved; after a crash another claim goes on from there. ``do`` and ``undo`` may run twice.
* A step may raise ``Again`` (look later) or ``Final`` (undo backwards, then the plan's ``failed``). Any
  other error keeps the row, since the backend may still be at work, and tries again a bounded number
  of times; then it counts as final. So every operation ends.
"""

import concurrent.futures
import dataclasses
import socket
import threading
import types
from collections.abc import Callable, Iterable
from typing import Any

import psutil
from oslo_log import log

from manila_lite import context, errors
from manila_lite.db import operations as rows
from manila_lite.db.engine import Connection

LOG = log.getLogger(__name__)

#: Lanes: ordinary work, and quick work that must never wait behind it.
WORK, FAST = 'work', 'fast'


@dataclasses.dataclass
class Work:
    """One claimed operation: its row, the data it carries from step to step, and who asked for it.

    ``service`` is what the plans of a room need (driver, configuration); ``send`` set by a step passes
    the operation on to another queue when the step is saved. ``error`` is why it is being undone.
    """

    op: Any
    data: dict[str, Any]
    ctx: context.RequestContext
    service: Any
    send: tuple[str, str] | None = None
    error: Exception | None = None

    @property
    def resource_id(self) -> str:
        """The id of what the operation is about."""
        return self.op.resource_id


@dataclasses.dataclass(frozen=True)
class Step:
    """``do`` makes something true; ``undo`` takes it back, also when ``do`` did not finish."""

    do: Callable[[Work], None]
    undo: Callable[[Work], None] | None = None


@dataclasses.dataclass(frozen=True)
class Plan:
    """The steps of one kind of operation, and what is written when it ends.

    ``done`` and ``failed`` run in the transaction that ends the operation.
    """

    kind: str
    steps: tuple[Step, ...]
    done: Callable[[Connection, Work], None]
    failed: Callable[[Connection, Work, Exception], None]


def begin(conn: Connection, ctx: context.RequestContext, kind: str, resource_type: str, resource_id: str, *,
          topic: str, host: str = '', data: dict[str, Any] | None = None, serial: str | None = None,
          open_key: str | None = None, lane: str = WORK) -> 'Wake':
    """The operation is part of the caller's transaction. Returns the wake-up to send after the commit."""
    ident = rows.insert(conn, kind=kind, resource_type=resource_type, resource_id=resource_id, topic=topic,
                        host=backend_of(host), data=data or {}, serial=serial, open_key=open_key, lane=lane,
                        project_id=ctx.project_id, user_id=ctx.user_id, request_id=ctx.request_id)
    return Wake(topic, backend_of(host), ident)


def begin_once(conn: Connection, ctx: context.RequestContext, kind: str, resource_type: str, resource_id: str, *,
               topic: str, host: str, open_key: str, **more: Any) -> 'Wake':
    """The operation with this key is open and will look once more before it ends; it begins if it was not open."""
    ident = rows.ask_again(conn, open_key)
    if ident is not None:
        return Wake(topic, backend_of(host), ident)
    return begin(conn, ctx, kind, resource_type, resource_id, topic=topic, host=host, open_key=open_key, **more)


@dataclasses.dataclass(frozen=True)
class Wake:
    """Where a new operation waits."""

    topic: str
    host: str
    operation_id: str

    def send(self, ctx: context.RequestContext) -> None:
        """Tell the worker. Never fails: a lost wake-up costs one poll interval."""
        ctx.bus.wake(self.topic, self.host or None, self.operation_id)


def backend_of(host: str) -> str:
    """``host@backend#pool`` without the pool."""
    return host.partition('#')[0]


def owner_name() -> str:
    """Name this process so that a later one on the same host can tell whether it still lives."""
    me = psutil.Process()
    return f'{socket.gethostname()}/{me.pid}/{me.create_time():.2f}'


def _is_dead(owner: str) -> bool:
    host, pid, started = (owner.rsplit('/', 2) + ['', ''])[:3]
    if host != socket.gethostname() or not pid.isdigit():
        return False
    try:
        return abs(psutil.Process(int(pid)).create_time() - float(started)) > 1
    except psutil.NoSuchProcess:
        return True


class Runner:
    """Works off one queue (``topic``, ``host``) with a bounded number of hands per lane."""

    def __init__(self, services: context.Services, topic: str, host: str, plans: Iterable[Plan], service: Any):
        self.services = services
        self.topic = topic
        self.host = host
        self.plans = {plan.kind: plan for plan in plans}
        self.service = service
        conf = services.conf.operations
        self.conf = conf
        self.owner = owner_name()
        self._hands = {WORK: conf.workers, FAST: conf.fast_workers}
        self._pools: dict[str, concurrent.futures.ThreadPoolExecutor] = {}
        self._lock = threading.Lock()
        self._running: dict[str, tuple[str, str | None]] = {}   # operation id -> (lane, serial)
        self._more = False      # the last look found more than there were hands for
        self._stopped = threading.Event()
        self._poke = threading.Event()
        self._drained = threading.Event()
        self._threads: dict[str, threading.Thread] = {}

    # Life -------------------------------------------------------------------------------------

    def start(self) -> None:
        """Claims of dead processes of this host are free, and the queue is worked on from now."""
        self.free_dead_claims()
        for lane, hands in self._hands.items():
            self._pools[lane] = concurrent.futures.ThreadPoolExecutor(hands, f'{self.topic}-{lane}')
        for target, name in ((self._poll, 'poll'), (self._renew, 'lease')):
            thread = threading.Thread(target=target, name=f'{self.topic}-{name}', daemon=True)
            thread.start()
            self._threads[name] = thread

    def stop(self) -> None:
        """No new work is claimed; what runs is finished."""
        self._stopped.set()
        self._poke.set()
        if self._threads:
            self._threads['poll'].join()
        for pool in self._pools.values():
            pool.shutdown(wait=True)
        self._drained.set()     # until now leases were renewed
        if self._threads:
            self._threads['lease'].join()

    def free_dead_claims(self) -> None:
        """What processes of this host held when they died need not wait for the lease to run out."""
        with self.services.db.writer() as conn:
            for owner in rows.owners(conn, self.topic, self.host):
                if owner != self.owner and _is_dead(owner):
                    count = rows.free_claims_of(conn, owner)
                    LOG.warning('%s operations of %s are taken over: it is gone', count, owner)

    def wake(self) -> None:
        """There may be work: look now."""
        self._poke.set()

    @property
    def busy(self) -> int:
        """How many operations run at this moment."""
        with self._lock:
            return len(self._running)

    # Finding work -----------------------------------------------------------------------------

    def _poll(self) -> None:
        while not self._stopped.is_set():
            try:
                while self._look():
                    pass
            except Exception:
                LOG.exception('Looking for work failed; the next look is in %s s', self.conf.poll_interval)
            self._poke.wait(self.conf.poll_interval)
            self._poke.clear()

    def _look(self) -> bool:
        """Take what there are hands for; say whether another look at once would find more."""
        with self._lock:
            running = set(self._running)
            busy = {serial for _, serial in self._running.values() if serial}
            lanes = [lane for lane, _ in self._running.values()]
        free = [lane for lane, hands in self._hands.items() if lanes.count(lane) < hands]
        most = sum(self._hands.values())
        with self.services.db.reader() as conn:
            found = rows.due(conn, self.topic, self.host, most + 1, running, busy, free)
        taken = 0
        for entry in found:
            # One by one: if a claim fails, the others are not booked and are found again.
            if self._book(entry):
                taken += 1
                self._take(entry)
        self._more = taken < len(found) or bool(busy) or len(free) < len(self._hands)
        return 0 < taken < len(found)

    def _book(self, entry: Any) -> bool:
        """Keep a hand for the operation, if its lane has one and nothing of the same serial runs."""
        with self._lock:
            lanes = [lane for lane, _ in self._running.values()]
            if lanes.count(entry.lane) >= self._hands[entry.lane]:
                return False
            if entry.serial and (entry.lane, entry.serial) in self._running.values():
                return False
            self._running[entry.id] = (entry.lane, entry.serial)
            return True

    def _drop(self, ident: str) -> None:
        with self._lock:
            self._running.pop(ident, None)
        if self._more:
            self._poke.set()

    def _take(self, entry: Any) -> None:
        try:
            with self.services.db.writer() as conn:
                values = rows.claim(conn, entry, self.owner, self.conf.lease)
        except Exception:
            self._drop(entry.id)
            raise
        if values is None:
            self._drop(entry.id)
        else:
            self._pools[entry.lane].submit(self._work, types.SimpleNamespace(**values))

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

    # Doing it ---------------------------------------------------------------------------------

    def _work(self, op: Any) -> None:
        try:
            self._run(op)
        except errors.LostClaim as lost:
            LOG.warning('%s: %s', op.resource_id, lost)
        except Exception:
            LOG.exception('%s: %s could not be saved; its lease will run out and it is tried again', op.resource_id, op.kind)
        finally:
            self._drop(op.id)

    def _run(self, op: Any) -> None:
        plan = self.plans.get(op.kind)
        if plan is None:
            raise errors.ManilaLiteError(f'No plan for operations of kind {op.kind}')
        ctx = context.RequestContext(
            user_id=op.user_id, project_id=op.project_id, request_id=op.request_id, is_admin=True,
            roles=['admin', 'member', 'reader'], services=self.services, overwrite=False)
        work = Work(op, dict(op.data), ctx, self.service)
        if op.attempts > self.conf.max_attempts:
            # Each earlier try ended without a word: the process died in it.
            self._undo(plan, work, errors.Final('The work was interrupted too often.'), op.step)
        elif op.undoing:
            self._undo(plan, work, errors.Final(op.error or 'undone'), op.step)
        else:
            self._forward(plan, work)

    def _forward(self, plan: Plan, work: Work) -> None:
        step = work.op.step
        while True:
            while step < len(plan.steps):
                try:
                    plan.steps[step].do(work)
                except errors.LostClaim:
                    raise
                except Exception as error:
                    self._stumble(plan, work, step, error)
                    return
                step += 1
                if work.send:
                    self._pass_on(work, step)
                    return
                if step < len(plan.steps):
                    self._save(work, step=step, data=work.data, attempts=1)
            with self.services.db.writer() as conn:
                plan.done(conn, work)
                if rows.finish(conn, work.op.id, self.owner, rows.DONE, wanted=work.op.wanted):
                    return
                work.op = rows.get(conn, work.op.id)
            step = 0

    def _stumble(self, plan: Plan, work: Work, step: int, error: Exception) -> None:
        op = work.op
        if isinstance(error, errors.Again):
            with self.services.db.writer() as conn:
                rows.release(conn, op.id, self.owner, error.after, step=step, data=work.data, attempts=0)
        elif isinstance(error, errors.Final) or op.attempts >= self.conf.max_attempts:
            if isinstance(error, errors.Final):
                LOG.warning('%s: %s failed: %s', op.resource_id, op.kind, error)
            else:
                LOG.exception('%s: %s failed for good', op.resource_id, op.kind)
            self._undo(plan, work, error, step)
        else:
            delay = self.conf.retry_delay * 2 ** (op.attempts - 1)
            LOG.exception('%s: %s failed, next try in %s s', op.resource_id, op.kind, delay)
            with self.services.db.writer() as conn:
                rows.release(conn, op.id, self.owner, delay, step=step, data=work.data, error=str(error))

    def _undo(self, plan: Plan, work: Work, error: Exception, step: int) -> None:
        work.error = error
        for at in range(min(step, len(plan.steps) - 1), -1, -1):
            undo = plan.steps[at].undo
            if undo is None:
                continue
            self._save(work, step=at, data=work.data, undoing=True, error=str(error))
            try:
                undo(work)
            except errors.LostClaim:
                raise
            except Exception:
                LOG.exception('%s: undoing step %s of %s failed', work.op.resource_id, at, work.op.kind)
        if work.send:
            self._pass_on(work, 0)
            return
        with self.services.db.writer() as conn:
            plan.failed(conn, work, error)
            rows.finish(conn, work.op.id, self.owner, rows.FAILED, str(error))

    def _save(self, work: Work, **values: Any) -> None:
        with self.services.db.writer() as conn:
            rows.move(conn, work.op.id, self.owner, **values)

    def _pass_on(self, work: Work, step: int) -> None:
        topic, host = work.send
        host = backend_of(host)
        with self.services.db.writer() as conn:
            rows.release(conn, work.op.id, self.owner, topic=topic, host=host, step=0, data=work.data,
                         attempts=0, undoing=False, error=None)
        Wake(topic, host, work.op.id).send(work.ctx)
