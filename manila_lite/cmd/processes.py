# SPDX-License-Identifier: Apache-2.0
"""Services as child processes under oslo.service's launcher: SIGTERM drains, a dead child is started again."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

from oslo_config import cfg
from oslo_service import service


class Process(service.Service):
    """A part (scheduler, share manager, API) in a process of its own. It is made after the fork."""

    def __init__(self, make: Callable[[], Any]):
        super().__init__()
        self._make = make
        self._part: Any = None
        self._done: threading.Event | None = None

    def start(self) -> None:
        """The part works."""
        self._done = threading.Event()
        self._part = self._make()
        self._part.start()

    def stop(self, graceful: bool = True) -> None:
        """The part has drained."""
        if self._part is not None:
            self._part.stop()
        if self._done is not None:
            self._done.set()

    def wait(self) -> None:
        """Return when the part was stopped."""
        if self._done is not None:
            self._done.wait()


def run(conf: cfg.ConfigOpts, parts: Sequence[tuple[Callable[[], Any], int]]) -> int:
    """Run parts, each with its number of processes, until a signal ends them; returns the exit status."""
    launcher = service.ProcessLauncher(conf, restart_method='mutate')
    for make, workers in parts:
        launcher.launch_service(Process(make), workers=workers)
    return launcher.wait() or 0
