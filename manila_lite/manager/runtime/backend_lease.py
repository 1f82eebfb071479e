# SPDX-License-Identifier: Apache-2.0
"""The backend lease: of several processes configured for one backend, one works; another takes over when it dies.

The process that works renews the lease; the others try to take it. A process that could not renew it in time claims
nothing any more before the lease is over, even if it slept meanwhile, and stands back if another took the lease.
"""

import threading
from typing import Protocol

from oslo_log import log

from manila_lite import context
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import backend_leases
from manila_lite.engine import process_names
from manila_lite.engine.environment import REAL, Environment, Thread

LOG = log.getLogger(__name__)

#: Fractions of the lease: how often it is renewed or tried for, and how long this process relies on it.
_TRY, _COUNT_ON = 1 / 3, 0.8
#: Seconds after the end of another process's lease until the next try; also the least time between two tries.
_AFTER = 0.1
#: Seconds until the next try after a guarded backend stopped serving, or could not begin.
_STOPPED = 1.0


class Guarded(Protocol):
    """A backend that serves only while it is told to: see ``drivers/interface/failover.py``."""

    def take_up(self, until: float) -> None:
        """Let the backend serve until then, from now on."""

    def keep(self, until: float) -> bool:
        """Let the backend serve until then. Returns false if it has stopped meanwhile."""


class BackendLease:
    """The right to work at one backend. ``start`` is called once the service's row exists.

    A ``guarded`` backend is told of each renewal before this process relies on it. Its lease is never given up, but runs
    out: until then a process that is started again on this host goes on without a break.
    """

    def __init__(self, services: context.Services, host: str, binary: str, environment: Environment = REAL,
                 guarded: Guarded | None = None):
        self._services = services
        self._environment = environment
        self._guarded = guarded
        self._key = (host, binary)
        self._lease = services.conf.operations.lease
        self._owner = environment.process()
        self._until = 0.0
        self._pause = self._lease * _TRY
        self._end: threading.Event | None = None        # of the lease, as far as this process has it
        self._waits_for: str | None = None
        self._finishing = False
        self._changed = environment.condition()
        self._stopped = environment.event()
        self._thread: Thread | None = None

    def held(self) -> bool:
        """Say whether this process may begin work at the backend now."""
        return self._environment.boottime() < self._until       # which goes on while the machine sleeps, as leases do

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

    def finish(self) -> None:
        """End the lease for the threads in ``wait``. No other process gets it before ``stop``."""
        with self._changed:
            self._finishing = True
            if self._end:
                self._end.set()
            self._changed.notify_all()

    def stop(self) -> None:
        """Give the lease up, so that another process may have the backend; that of a guarded backend runs out."""
        self.finish()
        self._stopped.set()
        if self._thread is None:
            return
        self._thread.join()
        self._until = 0.0
        if self._guarded:
            return
        try:
            with self._services.db.writer() as conn:
                backend_leases.release(conn, *self._key, self._owner)
        except Exception:
            LOG.exception('%s: its lease could not be given up and will run out', self._key[0])

    def _run(self) -> None:
        while not self._stopped.wait(self._pause):
            self._try()

    def _try(self) -> None:
        asked, self._pause = self._environment.boottime(), self._lease * _TRY
        try:
            kept, other = self._renew_or_take()
        except Exception:
            LOG.exception('%s: the process that works there could not be read', self._key[0])
            return
        until = asked + self._lease * _COUNT_ON
        if kept and self._guarded and not self._allow(self._guarded, until):
            kept, other, self._pause = False, None, min(self._pause, _STOPPED)
        if kept:
            self._until = until
        with self._changed:
            if kept and self._end is None:
                self._begin()
            elif not kept and self._end is not None:
                self._lose(self._end, other)
            elif not kept and other and self._waits_for != other:
                LOG.info('%s: %s works there; waiting', self._key[0], other)
                self._waits_for = other

    def _allow(self, guarded: Guarded, until: float) -> bool:
        """Let the backend serve until then. Say whether it may go on, or begin."""
        try:
            if self._end is not None:
                return guarded.keep(until)
            guarded.take_up(until)
        except Exception:
            LOG.exception('%s: the backend cannot be served by this process now', self._key[0])
            return False
        return True

    def _renew_or_take(self) -> tuple[bool, str | None]:
        """Return whether this process has the lease, with no other in between; and the holder if it has not."""
        with self._services.db.writer() as conn:
            if backend_leases.renew(conn, *self._key, self._owner, self._lease):
                return True, None
            other, left = backend_leases.get_holder(conn, *self._key)
            self._pause = min(self._pause, max(left, 0.0) + _AFTER)
            if self._end is not None:
                return False, other         # another process had it: this one stands back first, then tries for it
            dead = other if other and self._environment.is_dead(other) else None
            return backend_leases.take(conn, *self._key, self._owner, self._lease, dead), other

    def _begin(self) -> None:
        if self._waits_for:
            LOG.warning('%s: this process takes over from %s', self._key[0], self._waits_for)
        self._waits_for = None
        self._end = self._environment.event()
        if self._finishing:
            self._end.set()
        self._changed.notify_all()

    def _lose(self, end: threading.Event, other: str | None) -> None:
        if other:
            LOG.warning('%s: %s took over from this process, which stops its work there', self._key[0], other)
        else:
            LOG.warning('%s: the backend stopped serving on this host; this process stops its work there', self._key[0])
        self._until = 0.0
        self._waits_for = other or 'nobody'
        end.set()
        self._end = None
