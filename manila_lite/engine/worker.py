# SPDX-License-Identifier: Apache-2.0
"""The worker of one queue of a scheduler or a backend: heartbeat, bus endpoint, runner and timers."""

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterable
from concurrent import futures
from typing import Any

from futurist import periodics
from oslo_log import log

from manila_lite import context, engine
from manila_lite.db.queries import services as rows
from manila_lite.rpc import TOPICS
from manila_lite.rpc.endpoint import Operations
from manila_lite.rpc.server import Server

LOG = log.getLogger(__name__)

#: Threads for the timers of one worker, so that a slow timer does not delay others.
_TIMER_THREADS = 4


class Worker:
    """Serves the queue of ``topic`` and ``host``. Other processes see it as service ``binary`` on ``identity``.

    ``host`` may be empty for a queue that several processes share (the schedulers').
    """

    def __init__(
        self,
        services: context.Services,
        topic: str,
        host: str,
        identity: str,
        zone: str,
        plans: Iterable[engine.Plan[Any]],
        service: Any,
    ):
        self.services = services
        self.binary = TOPICS[topic]
        self.identity = identity
        self.zone = zone
        self.runner = engine.Runner(services, topic, host, plans, service)
        self._bus = self._server()
        self._listening = False
        self._timers: list[tuple[float, Callable[[], None]]] = [(services.conf.report_interval, self.beat)]
        self._periodic: periodics.PeriodicWorker | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._working = self._stopped = False
        self._clock_ahead = 0.0
        self.runner.clock_agrees = self.clock_agrees

    def every(self, seconds: float, do: Callable[[], None]) -> None:
        """Call ``do`` at once and every ``seconds`` from ``start`` on. To be called before ``start``."""
        self._timers.append((seconds, self._until_stopped(do)))

    def _until_stopped(self, do: Callable[[], None]) -> Callable[[], None]:
        """Return a timer that does nothing once the worker is being stopped. Heartbeats go on as long as there is work."""

        def timer() -> None:
            if not self._stopped:
                do()

        return timer

    def start(self, *, listen: bool = True) -> None:
        """Start heartbeat and timers, and with ``listen`` the bus. Operations are claimed only after ``work``."""
        self.beat()
        if listen:
            self.listen()
        timers: list[Any] = [(_periodic(seconds, do), (), {}) for seconds, do in self._timers]
        # The threads of an executor of futurist look only once a second whether they shall end.
        self._periodic = periodics.PeriodicWorker(
            timers, executor_factory=lambda: futures.ThreadPoolExecutor(_TIMER_THREADS)
        )
        self._thread = threading.Thread(
            target=self._periodic.start, name=f'{self.binary}-timers', daemon=True
        )
        self._thread.start()

    def listen(self) -> None:
        """Start receiving wake-ups, unless the worker was stopped. May be called twice."""
        with self._lock:
            if not (self._listening or self._stopped):
                self._bus.start()
                self._listening = True

    def stop_listening(self) -> None:
        """Stop receiving wake-ups. They go to other processes that listen as the same service."""
        with self._lock:
            bus, self._bus, self._listening = self._bus, self._server(), False
        bus.stop()

    def _server(self) -> Server:
        endpoint = Operations(self.runner.wake)
        return Server(self.services.conf, self.binary, self.identity, [endpoint])

    def work(self) -> None:
        """Start to claim and run operations of the queue, unless the worker was stopped meanwhile.

        A repeated call takes over operations that dead processes left.
        """
        with self._lock:
            if self._stopped:
                return
            if not self._working:
                self.runner.start()
                self._working = True
                return
        self.runner.take_over()

    def stop(self, *, last: bool = True) -> None:
        """Begin nothing new, and wait for running operations. Until then other processes see the service as up.

        ``last``: show the service as stopped, since no other process carries on. A child whose master was killed ends, too,
        but nobody stopped the service: it stays as it is, and is down when its heartbeat is old.
        """
        with self._lock:
            self._stopped = True
        self._bus.stop()
        if self._working:
            self.runner.stop()
        if self._periodic is not None:
            self._periodic.stop()
            self._periodic.wait()
        try:
            if last and not _is_orphan():
                self.beat(stopped=True)
        except Exception:
            LOG.exception('%s: could not report that it stops', self.identity)

    def beat(self, stopped: bool = False) -> None:
        """Record a heartbeat, and compare the clocks."""
        with self.services.db.writer() as conn:
            ahead = rows.heartbeat(conn, self.identity, self.binary, self.zone, stopped=stopped)
        agreed, self._clock_ahead = self.clock_agrees(), ahead
        if self.clock_agrees() != agreed:
            self._say_clock(agrees=not agreed)

    def clock_agrees(self) -> bool:
        """Say whether the clocks of this host and of the database agreed at the last heartbeat, closely enough for leases."""
        return bool(abs(self._clock_ahead) <= self.services.conf.operations.max_clock_difference)

    def _say_clock(self, *, agrees: bool) -> None:
        if agrees:
            LOG.warning(
                '%s: the clock of this host agrees with that of the database again; work is claimed',
                self.identity,
            )
            self.runner.wake()
        else:
            LOG.error(
                '%s: the clock of this host is %s that of the database, more than [operations] max_clock_difference: no '
                'work is claimed until they agree. Set the clock, for instance with "chronyc makestep"',
                self.identity,
                rows.clock_words(self._clock_ahead),
            )


def _is_orphan() -> bool:
    """Say whether this process is a child whose master has ended.

    A master that is just ending closes its files first; but sisters of this process may have them open, too.
    """
    master = multiprocessing.parent_process()
    return master is not None and not (master.is_alive() and master.pid == os.getppid())


def _periodic(seconds: float, do: Callable[[], None]) -> Callable[[], None]:
    @periodics.periodic(spacing=seconds, run_immediately=True)
    def guarded() -> None:
        try:
            do()
        except Exception:
            LOG.exception('A timer failed; it runs again in %s s', seconds)

    return guarded
