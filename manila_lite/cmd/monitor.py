# SPDX-License-Identifier: Apache-2.0
"""Monitoring of a process: metrics over HTTP, reports at SIGUSR2, traces. Its failures do not stop the work."""

import logging
import os
import threading
from collections.abc import Callable
from typing import Any

from oslo_config import cfg

from manila_lite import trace
from manila_lite.cmd import reports

LOG = logging.getLogger(__name__)

#: Seconds to wait for the end of the thread.
_END = 10


class Monitor:
    """The monitor of a process, as ``service``, from ``start`` to ``stop``. Make it after the fork, in any thread.

    ``backend``: the name of the only backend of the process, if it has one.
    """

    def __init__(self, conf: cfg.ConfigOpts, service: str, backend: str = ''):
        self._conf = conf
        self._service = service
        self._backend = backend
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Make reports and traces, and show metrics as soon as a port is free. Never fails."""
        try:
            reports.listen(self._conf, self._service)
            trace.start(self._conf, self._service)
        except Exception:
            LOG.exception('There will be no reports or traces of this process')
        if self._conf.metrics.port:
            self._thread = threading.Thread(target=self._run, name='metrics', daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Stop showing metrics, and free the port."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join(_END)

    def _run(self) -> None:
        try:
            from manila_lite.cmd.metrics_server import MetricsServer  # it takes 2 MiB

            MetricsServer(self._conf, self._service, self._backend).run(self._stopped)
        except Exception:
            LOG.exception('Metrics of this process are no longer shown')


def measured(app: Callable[..., Any], conf: cfg.ConfigOpts, service: str) -> Callable[..., Any]:
    """Return ``app`` for servers that fork by themselves: each process is monitored from its first request on."""
    lock = threading.Lock()
    seen: set[int] = set()

    def wrapped(environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        if os.getpid() not in seen:
            with lock:
                if os.getpid() not in seen:
                    seen.add(os.getpid())
                    Monitor(conf, service).start()
        return app(environ, start_response)

    return wrapped
