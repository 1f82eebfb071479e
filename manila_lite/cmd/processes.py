# SPDX-License-Identifier: Apache-2.0
"""Services as child processes of oslo.service's launcher: SIGTERM drains, a dead child is started again.

At SIGHUP the master reads its configuration files anew, and every child drains and is forked again from it. The list of
backends, and addresses and numbers of API processes are set in the master: changing them needs a restart.
"""

import dataclasses
import gc
import logging
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

from oslo_config import cfg
from oslo_service import service

from manila_lite import errors
from manila_lite.api.server.listener import Listener
from manila_lite.cmd import log_lines, log_outages, monitor, preflight, reports, setup, watchdog
from manila_lite.cmd.master import Master
from manila_lite.db.core import engine
from manila_lite.rpc import notifications

LOG = logging.getLogger(__name__)

#: Seconds between two looks for the database.
_PAUSE = 2.0


@dataclasses.dataclass(frozen=True)
class Part:
    """A service of a command. ``make`` makes it after the fork, in each of ``workers`` processes.

    ``listener``: of an API, open in all of them. ``backend``: the name of the backend of a share manager.
    """

    make: Callable[[], Any]
    workers: int = 1
    listener: Listener | None = None
    backend: str = ''


class Process(service.Service):  # type: ignore[misc]  # oslo.service has no types
    """A service (scheduler, share manager, API) in a process of its own. The service is made after the fork.

    ``overlaps``: at SIGHUP it ends when its successor does its work, not before. ``tell_ready`` is called then.
    """

    def __init__(self, conf: cfg.ConfigOpts, name: str, part: Part, tell_ready: Callable[[], None]):
        super().__init__()
        self.overlaps = part.listener is not None
        self._conf = conf
        self._name = name
        self._description = part
        self._tell_ready = tell_ready
        self._monitor: monitor.Monitor | None = None
        self._part: Any = None
        self._changing = threading.Lock()
        self._done = threading.Event()

    def start(self) -> None:
        """Start the service, unless ``stop`` was called before. With a bad configuration log one line and end the process."""
        log_lines.setup(self._conf)  # the master set the log up before it read its files anew
        log_outages.install(self._conf)
        if not self.overlaps:  # an API says by itself that its database is away
            self._await_database()
        with self._changing:
            if self._done.is_set():
                return
            try:
                self._part = self._description.make()
                self._part.start()
                self._monitor = monitor.Monitor(self._conf, self._name, self._description.backend)
                self._monitor.start()
                if listener := self._description.listener:
                    # It reads the bytes of strangers; another one may be stopped for a while and go on.
                    watchdog.Watchdog(listener.beat).start()
                self._tell_ready()
            except (errors.BadConfig, *engine.UNUSABLE) as bad:
                LOG.error('Cannot start yet, trying again: %s', bad)
                sys.exit(1)

    def _await_database(self) -> None:
        """Return when the database answers, or ``stop`` was called."""
        said = ''
        while not self._done.is_set():
            try:
                preflight.reach(self._conf)
                return
            except engine.UNUSABLE as bad:
                if str(bad) != said:
                    LOG.error('Waiting for the database: %s', bad)
                said = str(bad)
            self._done.wait(_PAUSE)

    def stop(self, graceful: bool = True) -> None:
        """Stop the service after it has drained."""
        self._done.set()
        with self._changing:  # a signal may come during the start
            part, self._part = self._part, None
        if part is not None:
            part.stop()
            notifications.drain(self._conf.rpc.drain_timeout)
        if self._monitor is not None:
            self._monitor.stop()

    def wait(self) -> None:
        """Return when ``stop`` was called."""
        self._done.wait()


class Launcher(service.ProcessLauncher):  # type: ignore[misc]  # oslo.service has no types
    """oslo.service's launcher, with our master."""

    def __init__(self, conf: cfg.ConfigOpts):
        super().__init__(conf, restart_method='reload')
        self._manager = self.master = Master(conf)
        self._manager_context = self.master.mp_context

    def wait(self) -> int:
        """Return the exit status when a signal has ended the master."""
        return super().wait() or 0


def run(conf: cfg.ConfigOpts, name: str, parts: Sequence[Part]) -> int:
    """Run services, each in its number of processes, until a signal ends them; return the exit status.

    ``name`` is that of the command.
    """
    setup.say_start(name)
    reports.install_signal_handler()
    reports.listen(conf, name)
    launcher = Launcher(conf)
    for part in parts:
        launcher.launch_service(Process(conf, name, part, launcher.master.tell_ready), workers=part.workers)
        if part.listener is not None:
            # Clients are told at once that nobody will answer: children do the same when they end.
            launcher.master.register_hooks(on_terminate=part.listener.close)
            launcher.master.stand_in(part.listener)
    _share_memory()
    return launcher.wait()


def _share_memory() -> None:
    """Freeze all objects. Children share their pages then: the garbage collector of a child would write to each object."""
    gc.collect()
    gc.freeze()
