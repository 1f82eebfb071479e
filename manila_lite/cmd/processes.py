# SPDX-License-Identifier: Apache-2.0
"""Services as child processes of oslo.service's launcher: SIGTERM drains, a dead child is started again.

At SIGHUP the master reads its configuration files anew, and every child drains and is forked again from it. The list of
backends and the number of API processes are set in the master: changing them needs a restart.
"""

import contextlib
import dataclasses
import logging
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

from oslo_config import cfg
from oslo_service import service

from manila_lite import errors
from manila_lite.cmd import log_lines, monitor, reports, setup
from manila_lite.rpc import notices

LOG = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Part:
    """A service of a command. ``make`` makes it after the fork; ``workers``: its number of processes.

    ``backend``: the name of the backend of a share manager.
    """

    make: Callable[[], Any]
    workers: int = 1
    backend: str = ''


class Process(service.Service):
    """A service (scheduler, share manager, API) in a process of its own. The service is made after the fork."""

    def __init__(self, conf: cfg.ConfigOpts, name: str, part: Part):
        super().__init__()
        self._conf = conf
        self._name = name
        self._description = part
        self._monitor: monitor.Monitor | None = None
        self._part: Any = None
        self._changing = threading.Lock()
        self._done = threading.Event()

    def start(self) -> None:
        """Start the service, unless ``stop`` was called before. With a bad configuration log one line and end the process."""
        log_lines.setup(self._conf)     # the master set the log up before it read its files anew
        with self._changing:
            if self._done.is_set():
                return
            try:
                self._part = self._description.make()
                self._part.start()
                self._monitor = monitor.Monitor(self._conf, self._name, self._description.backend)
                self._monitor.start()
            except errors.BadConfig as bad:
                LOG.error('Cannot start yet, trying again: %s', bad)
                sys.exit(1)

    def stop(self, graceful: bool = True) -> None:
        """Stop the service after it has drained."""
        self._done.set()
        with self._changing:                    # a signal may come during the start
            part, self._part = self._part, None
        if part is not None:
            part.stop()
            notices.drain(self._conf.rpc.drain_timeout)
        if self._monitor is not None:
            self._monitor.stop()

    def wait(self) -> None:
        """Return when ``stop`` was called."""
        self._done.wait()


class Launcher(service.ProcessLauncher):
    """oslo.service's launcher, which goes on forking after a SIGHUP that comes while it delays the restart of a child.

    At SIGHUP, one thread of cotyledon 2.2 forgets its forks; another, which waits before it forks again, fails with an
    IndexError and dies, and no child is ever started again. There is no public way to change that function.
    """

    def wait(self) -> int:
        """Return the exit status when a signal has ended the master."""
        manager = self._manager
        hold_back = manager._slowdown_respawn_if_needed     # noqa: SLF001 - see above

        def forgiving() -> None:
            with contextlib.suppress(IndexError):
                hold_back()

        manager._slowdown_respawn_if_needed = forgiving     # noqa: SLF001
        return super().wait() or 0


def run(conf: cfg.ConfigOpts, name: str, parts: Sequence[Part]) -> int:
    """Run services, each in its number of processes, until a signal ends them; return the exit status.

    ``name`` is that of the command.
    """
    setup.say_start(name)
    reports.install_signal_handler()
    reports.listen(conf, name)
    launcher = Launcher(conf, restart_method='reload')
    for part in parts:
        launcher.launch_service(Process(conf, name, part), workers=part.workers)
    return launcher.wait()
