# SPDX-License-Identifier: Apache-2.0
"""The master process: cotyledon's, which forks children and replaces dead ones, with another SIGHUP.

Clients must not notice that the children of an API are replaced: these end when their successors answer. Other children are
alone at their work, so they end before their successors are forked.
"""

import collections
import contextlib
import multiprocessing
import os
import signal
import struct
import threading
import time
from multiprocessing import Process
from typing import Any

import cotyledon
from cotyledon import oslo_config_glue
from oslo_config import cfg
from oslo_log import log

from manila_lite.api.server.listener import Listener

LOG = log.getLogger(__name__)

#: Seconds until the next fork if children end as soon as they start, and seconds for a child to install its signal handlers.
_PAUSE, _FORKED = 5.0, 10.0
#: Seconds that children have, after the time in which they should end by themselves, until they are killed.
_LAST = 2.0
_PID = struct.Struct('=i')


class Master(cotyledon.ServiceManager):
    """The master of all services of a command.

    The methods with an underscore that it replaces are those of cotyledon 2.2, which has no public way to change them.
    """

    def __init__(self, conf: cfg.ConfigOpts):
        super().__init__(
            graceful_shutdown_timeout=conf.graceful_shutdown_timeout,
            mp_context=multiprocessing.get_context('fork'),
        )
        oslo_config_glue.link(self, conf, reload_method='reload')
        #: Held while a child is forked, so that it does not get half of a configuration, and while the children change.
        self._changing = threading.Lock()
        self._hurry = threading.Event()
        self._forks: list[float] = []  # of the monotonic clock
        self._told, self._tell = os.pipe()
        self._ready: set[int] = set()  # process ids
        self._stand_ins: list[threading.Thread] = []
        #: Children that work until their successors do, by service; and children that were told to end after that.
        self._retired: collections.defaultdict[Any, list[Process]] = collections.defaultdict(list)
        self._ending: list[Process] = []
        self._once_more: set[Any] = set()  # services with a SIGHUP while they had retired children

    def tell_ready(self) -> None:
        """Tell the master that this child does its work. Called in the child."""
        with contextlib.suppress(OSError):  # the master is gone
            os.write(self._tell, _PID.pack(os.getpid()))

    def stand_in(self, listener: Listener) -> None:
        """Answer ``/healthcheck`` while no child that has the listener can."""
        from manila_lite.api.server import stand_in  # only an API needs a parser of requests in its master

        self._stand_ins.append(stand_in.StandIn(listener, self._changing))

    def run(self) -> None:
        """Start the children, and replace those that die, until a signal ends this process."""
        for thread in (threading.Thread(target=self._listen, name='children', daemon=True), *self._stand_ins):
            thread.start()
        super().run()

    # In the main thread

    def _reload(self) -> None:
        """Read the files, and have every child replaced: SIGHUP."""
        with self._changing:
            self._run_hooks('reload')
            self._forks.clear()
            services: dict[Any, Any] = self._services  # whose arguments cotyledon takes for none
            for service_id, config in services.items():
                for child, info in self._running_services[service_id].items():
                    info.started_event.wait(_FORKED)  # else it would take a signal for one to its master
                    if not config.args[0].overlaps and child.exitcode is None and child.pid is not None:
                        os.kill(child.pid, signal.SIGHUP)
                if self._retired[service_id]:
                    self._once_more.add(service_id)
                elif config.args[0].overlaps:
                    self._retire(service_id)
        self._hurry.set()
        self._got_sig_chld.set()

    def _shutdown(self) -> None:
        """End the children, and this process: SIGTERM."""
        self._dead.set()
        self._hurry.set()
        if self._graceful_shutdown_timeout > 0:
            last = threading.Timer(self._graceful_shutdown_timeout + _LAST, self._kill)
            last.daemon = True
            last.start()
        super()._shutdown()

    def _kill(self) -> None:
        """Kill the children that are left. If a thread of theirs holds the interpreter, they see no other signal."""
        LOG.warning('Processes did not end within %s s: they are killed', self._graceful_shutdown_timeout)
        for child in self._child_processes:
            with contextlib.suppress(ValueError):  # it has ended
                child.kill()

    def _retire(self, service_id: Any) -> None:
        """Make room for successors of a service's children, which the other thread forks. The children work on."""
        self._retired[service_id] = list(self._running_services[service_id])
        self._running_services[service_id].clear()

    # In the thread that listens to children

    def _listen(self) -> None:
        while told := os.read(self._told, _PID.size):
            with self._changing:
                self._ready.update(_PID.unpack(told))
                for service_id, config in self._services.items():
                    successors = self._running_services[service_id]
                    if len(successors) == config.workers and all(
                        one.pid in self._ready for one in successors
                    ):
                        self._hand_over(service_id)
            self._got_sig_chld.set()

    def _hand_over(self, service_id: Any) -> None:
        """End retired children of a service. Their successors are retired, too, if the files were read again meanwhile."""
        ending = self._retired.pop(service_id, [])
        self._ending += ending
        for child in ending if not self._dead.is_set() else ():
            child.terminate()
        if service_id in self._once_more:
            self._once_more.discard(service_id)
            self._retire(service_id)

    # In the thread that forks

    def _get_last_worker_died(self) -> Any:
        with self._changing:
            self._ending = [child for child in self._ending if child.is_alive()]
            return super()._get_last_worker_died()

    def _start_worker(self, service_id: Any, worker_id: Any) -> None:
        """Fork a child. If children end as soon as they start, wait before that, until SIGHUP or SIGTERM at most."""
        self._hurry.clear()
        number = sum(config.workers for config in self._services.values())
        if (
            len(self._forks) > number
            and time.monotonic() - self._forks[-number - 1] < number
            and not self._dead.is_set()
        ):
            LOG.warning('Processes end as soon as they start: the next one is started in %s s', _PAUSE)
            self._hurry.wait(_PAUSE)
        with self._changing:
            if not self._dead.is_set():
                self._ready.intersection_update(child.pid for child in self._child_processes)
                super()._start_worker(service_id, worker_id)
                self._forks = [*self._forks[-number:], time.monotonic()]

    def _slowdown_respawn_if_needed(self) -> None:
        """Do nothing: the wait is above, where it holds no lock."""

    # In any of them

    @property
    def _child_processes(self) -> list[Process]:
        """Every child, for the end."""
        return [
            *super()._child_processes,
            *(child for retired in self._retired.values() for child in retired),
            *self._ending,
        ]
