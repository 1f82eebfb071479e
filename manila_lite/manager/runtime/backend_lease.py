# SPDX-License-Identifier: Apache-2.0
"""The backend lease: of several processes configured for one backend, one works; another takes over when it dies.

The process that works renews the lease; the others try to take it. A process that could not renew it in time claims
nothing any more before the lease is over, even if it slept meanwhile, and stands back if another took the lease.
"""

import dataclasses
import threading
from collections.abc import Callable
from typing import Protocol

from oslo_log import log

from manila_lite import context
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import backend_leases, backend_machines
from manila_lite.engine import process_names
from manila_lite.engine.environment import REAL, Environment, Thread
from manila_lite.manager.runtime.standby import Standby

LOG = log.getLogger(__name__)

#: Fractions of the lease: how often it is renewed or tried for, and how long this process relies on it.
_TRY, _COUNT_ON = 1 / 4, 0.8
#: Seconds after the end of another process's lease until the next try; also the least time between two tries.
_AFTER = 0.1
#: Seconds until the next try after a guarded backend stopped serving, or could not begin.
_STOPPED = 1.0
_PASSED_ON = '%s: the lease is given up, so that another machine can serve'


@dataclasses.dataclass(frozen=True)
class _Turn:
    """The outcome of a try. ``kept``: this process has the lease. ``other``: the process that has it, if it is another one.
    ``give``: the process, this one or a dead one, whose lease should pass to another machine.
    """

    kept: bool
    other: str | None = None
    give: str | None = None


class Guarded(Protocol):
    """A backend that serves only while it is told to: see ``drivers/interface/failover.py``."""

    def take_up(self, until: float) -> None:
        """Let the backend serve until then, from now on."""

    def keep(self, until: float) -> bool:
        """Let the backend serve until then. Returns false if it has stopped meanwhile."""

    def let_go(self) -> None:
        """Stop serving the backend here, now."""

    def obstacle(self) -> str:
        """Return the reason why this host could not serve the backend, or ''."""


class BackendLease:
    """The right to work at one backend. ``start`` is called once the service's row exists.

    A ``guarded`` backend is told of each renewal before this process relies on it. At a stop its lease is not given up, but
    prolonged: until it runs out a process that is started again on this host goes on without a break. It is passed on when
    this machine is drained and another one is ready: the event of ``wait`` is set then, ``passes`` says so, and ``pass_on``
    ends it. It is given up when the backend cannot be taken up here and another machine could: the reason is reported as the
    problem of this machine for the length of a lease.
    """

    def __init__(
        self,
        services: context.Services,
        host: str,
        binary: str,
        environment: Environment = REAL,
        guarded: Guarded | None = None,
    ):
        self._services = services
        self._environment = environment
        self._guarded = guarded
        self._key = (host, binary)
        conf = services.conf.operations
        self._lease = conf.failover_lease if guarded else conf.lease
        #: From the stop of this process, for the start of the next one.
        self._last_lease = max(conf.lease, conf.failover_lease)
        self._owner = environment.process()
        #: Asked before the lease is taken: by a clock that is ahead, the lease of another process seems to be over.
        self.may_take: Callable[[], bool] = lambda: True
        self._until = 0.0
        self._pause = self._lease * _TRY
        self._end: threading.Event | None = None  # of the lease, as far as this process has it
        self._waits_for: str | None = None
        self._finishing = self._passing = False
        self._failure, self._failed_until = '', 0.0  # of the last time that the backend was to be taken up
        self._standby = Standby(services, host, self._owner, self._lease) if guarded else None
        self._stage = backend_machines.TAKES_OVER  # of this machine, once it has the lease
        self._trying = environment.lock()
        self._changed = environment.condition()
        self._stopped = environment.event()
        self._thread: Thread | None = None

    def held(self) -> bool:
        """Say whether this process may begin work at the backend now."""
        return (
            self._environment.boottime() < self._until
        )  # which goes on while the machine sleeps, as leases do

    def hold(self, conn: Connection) -> bool:
        """Say whether this process still has the lease. If so, no other takes it until the transaction ends."""
        return backend_leases.lock_if_owned(conn, *self._key, self._owner)

    def elsewhere(self) -> bool:
        """Say whether this process waits for another one that works there."""
        return self._waits_for is not None

    def is_on_another_machine(self) -> bool:
        """Say whether this process waits for one of another machine."""
        other = self._waits_for
        return other is not None and process_names.is_of_another_machine(other)

    def start(self) -> None:
        """Try for the lease once, and keep it, or try for it, in a thread from then on."""
        self._try()
        self._thread = self._environment.thread(self._run, f'{self._key[0]}-backend-lease')

    def wait(self) -> threading.Event | None:
        """Wait until this process may work. Return an event that is set when it may no longer, or None after ``finish``."""
        with self._changed:
            self._changed.wait_for(lambda: self._finishing or self._end)
            return None if self._finishing else self._end

    def ready(self) -> None:
        """Take note that the backend is served now."""
        if self._standby and self._stage == backend_machines.TAKES_OVER:
            self._stage = backend_machines.SERVES
            self._standby.say(self._stage)

    def passes(self) -> bool:
        """Say whether this process has the lease, and is to pass it on to another machine."""
        return self._passing

    def call_off(self) -> bool:
        """If no other machine is ready any more, have this process go on. Say whether it does."""
        with self._trying:
            with self._services.db.reader() as conn:
                ready = self._standby is None or self._standby.is_wanted(conn)
            with self._changed:
                if ready or not self._passing:
                    return not self._passing
                LOG.warning('%s: no other machine is ready any more; this one serves on', self._key[0])
                self._passing = False
                self._begin()
                return True

    def pass_on(self) -> None:
        """Give up the lease of a guarded backend that serves nothing here any more: another machine takes over at once."""
        with (
            self._trying
        ):  # a try under way may just have renewed the lease, and would have this process begin anew
            if self._passing:  # and not lost it meanwhile
                self._release_to_other()

    def _release_to_other(self) -> None:
        with self._services.db.writer() as conn:
            backend_leases.release(conn, *self._key, self._owner)
            if self._standby:
                self._standby.report(conn, backend_machines.WAITS, self._environment.boottime())
        with self._changed:
            LOG.warning(_PASSED_ON, self._key[0])
            self._until, self._end, self._passing, self._waits_for = 0.0, None, False, 'nobody'

    def finish(self) -> None:
        """End the lease for the threads in ``wait``. No other process gets it before ``stop``."""
        with self._changed:
            self._finishing = True
            if self._end:
                self._end.set()
            self._changed.notify_all()

    def stop(self) -> None:
        """Give the lease up, so that another process may have the backend; that of a guarded backend is prolonged."""
        self.finish()
        self._stopped.set()
        if self._thread is None:
            return
        self._thread.join()
        self._until = 0.0
        if self._standby and self._end is None:
            self._standby.end()
            return
        try:
            self._prolong(self._guarded) if self._guarded else self._give_up()
        except Exception:
            LOG.exception('%s: its lease could not be given up, or prolonged; it will run out', self._key[0])

    def _give_up(self) -> None:
        with self._services.db.writer() as conn:
            backend_leases.release(conn, *self._key, self._owner)

    def _prolong(self, guarded: Guarded) -> None:
        asked = self._environment.boottime()
        with self._services.db.writer() as conn:
            kept = backend_leases.renew(conn, *self._key, self._owner, self._last_lease)
        if kept:
            guarded.keep(asked + self._last_lease * _COUNT_ON)

    def _run(self) -> None:
        while not self._waits_in_vain():
            self._try()

    def _waits_in_vain(self) -> bool:
        """Wait until the next try. Return True if there is none."""
        if self._standby is None:
            return self._stopped.wait(self._pause)
        end = self._environment.boottime() + self._pause
        while (left := end - self._environment.boottime()) > 0:
            if self._stopped.wait(min(left, self._standby.pause)):
                return True
            self._obstacle()  # the driver looks whether the other host still writes
            if not self._passing and self._standby.calls(
                self._environment.boottime(), holds=self._end is not None
            ):
                break
        return self._stopped.is_set()

    def _try(self) -> None:
        with self._trying:
            turn = self._take_turn()
            if turn is not None:
                self._follow(turn)

    def _take_turn(self) -> _Turn | None:
        """Renew the lease, or try for it, and let the backend serve. Return the outcome, None if nothing changed."""
        asked, self._pause = self._environment.boottime(), self._lease * _TRY
        try:
            turn = self._renew_or_take(asked)
            if turn.give and self._end is None:
                self._give(turn.give)
        except Exception:
            LOG.exception('%s: the process that works there could not be read', self._key[0])
            return None
        until = asked + self._lease * _COUNT_ON
        if turn.kept and self._guarded and not self._allow(self._guarded, until):
            if self._passing:
                return None  # the backend lets go; until it has, the lease is kept
            self._pause = min(self._pause, _STOPPED)
            return _Turn(False)
        if turn.kept:
            self._until = until
        return turn

    def _follow(self, turn: _Turn) -> None:
        with self._changed:
            if turn.kept and self._end is None:
                self._begin()
            elif not turn.kept and self._end is not None:
                self._lose(self._end, turn.other)
            elif turn.give and self._end is not None:
                self._begin_to_pass(self._end)
            elif not turn.kept and turn.other and self._waits_for != turn.other:
                LOG.info('%s: %s works there; waiting', self._key[0], turn.other)
                self._waits_for = turn.other

    def _allow(self, guarded: Guarded, until: float) -> bool:
        """Let the backend serve until then. Say whether it may go on, or begin."""
        try:
            if self._end is not None:
                return guarded.keep(until)
            guarded.take_up(until)
        except Exception as bad:
            LOG.exception('%s: the backend cannot be served by this process now', self._key[0])
            if self._end is None:
                self._failure = str(bad) or type(bad).__name__
                self._failed_until = self._environment.boottime() + self._lease
            return False
        return True

    def _renew_or_take(self, asked: float) -> _Turn:
        """Renew the lease if no other process had it in between, else take it if it is free."""
        problem = self._obstacle()
        with self._services.db.writer() as conn:
            if backend_leases.renew(conn, *self._key, self._owner, self._lease):
                found = self._standby and self._standby.report(conn, self._stage, asked, problem)
                passes = (
                    self._standby
                    and found
                    and not self._passing
                    and (
                        self._standby.must_pass_on(found)
                        or (problem and not self._standby.may_take(found))  # taken, and not served
                    )
                )
                if passes and self._standby:
                    self._standby.report(conn, backend_machines.LETS_GO, asked, problem)
                return _Turn(not passes or self._end is not None, give=self._owner if passes else None)
            found = self._standby and self._standby.report(conn, backend_machines.WAITS, asked, problem)
            other, left = backend_leases.get_holder(conn, *self._key)
            self._pause = min(self._pause, max(left, 0.0) + _AFTER)
            if self._end is not None:
                return _Turn(
                    False, other
                )  # another process had it: this one stands back first, then tries for it
            dead = other if other and self._environment.is_dead(other) else None
            if self._standby and found:
                if dead and self._standby.must_pass_on(found):
                    return _Turn(False, other, give=dead)
                if not dead and not self._standby.may_take(found):
                    return _Turn(False, other)
            taken = self.may_take() and backend_leases.take(conn, *self._key, self._owner, self._lease, dead)
            if taken and self._standby:
                self._standby.report(conn, backend_machines.TAKES_OVER, asked)
            return _Turn(taken, other)

    def _obstacle(self) -> str:
        """Return the reason why this host, unless it serves, could not serve a guarded backend."""
        if self._end is not None:
            return ''
        if not self.may_take():
            return 'The clock of the host is wrong.'
        try:
            obstacle = self._guarded.obstacle() if self._guarded else ''
            return obstacle or (self._failure if self._environment.boottime() < self._failed_until else '')
        except Exception as bad:  # whatever it is, it must not keep this host from taking over
            LOG.exception('%s: it is not known whether this host could serve it', self._key[0])
            return str(bad)

    def _give(self, owner: str) -> None:
        """Give up the lease of this process, or of a dead one of this machine, once nothing serves here any more."""
        if self._guarded:
            self._guarded.let_go()
        with self._services.db.writer() as conn:
            backend_leases.release(conn, *self._key, owner)
        LOG.warning(_PASSED_ON, self._key[0])

    def _begin_to_pass(self, end: threading.Event) -> None:
        LOG.warning(
            '%s: this machine is drained, and another one is ready; this process ends its work there',
            self._key[0],
        )
        self._passing, self._stage = True, backend_machines.LETS_GO
        end.set()

    def _begin(self) -> None:
        if self._waits_for:
            LOG.warning('%s: this process takes over from %s', self._key[0], self._waits_for)
        self._waits_for = None
        self._stage = backend_machines.TAKES_OVER
        self._end = self._environment.event()
        if self._finishing:
            self._end.set()
        self._changed.notify_all()

    def _lose(self, end: threading.Event, other: str | None) -> None:
        if other:
            LOG.warning('%s: %s took over from this process, which stops its work there', self._key[0], other)
        else:
            LOG.warning(
                '%s: the backend stopped serving on this host; this process stops its work there',
                self._key[0],
            )
        self._until, self._passing = 0.0, False
        self._stage = backend_machines.TAKES_OVER
        self._waits_for = other or 'nobody'
        end.set()
        self._end = None
