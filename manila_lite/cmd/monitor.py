# SPDX-License-Identifier: Apache-2.0
"""Monitoring of a process: metrics over HTTP, reports at SIGUSR2, traces. Its failures do not stop the work."""

import errno
import logging
import os
import threading
from collections.abc import Callable
from typing import Any

from oslo_config import cfg
from prometheus_client import GC_COLLECTOR, CollectorRegistry, Info, ProcessCollector, make_wsgi_app

from manila_lite import errors, metrics, release, trace
from manila_lite.api.http.connection_limits import Limits
from manila_lite.api.http.server import ApiServer
from manila_lite.cmd import reports
from manila_lite.db.core.engine import Database

LOG = logging.getLogger(__name__)

#: Seconds between tries to find a free port, threads of the server, and seconds to wait for the thread's end.
_RETRY, _THREADS, _END = 30.0, 4, 10
#: Limits for clients: there are only a few collectors.
_LIMITS = Limits(connections=32, idle=10.0, header=10.0, body=10.0, answer=10.0)
_MOST = 1024


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
            database = Database(self._conf)     # a separate connection: scrapes take none from the work
            identity = {'service': self._service, 'release': release.VERSION, 'host': self._conf.host,
                        'backend': self._backend, 'pid': str(os.getpid())}
            shown = _Shown(self._conf, identity, database)
            while not self._stopped.is_set():
                try:
                    server = self._listen(shown.app)
                except errors.BadConfig as bad:
                    LOG.warning('Metrics of this process are not shown: %s; next try in %s s', bad, _RETRY)
                    self._stopped.wait(_RETRY)
                else:
                    self._stopped.wait()
                    server.stop(1.0)
            shown.close()
            database.dispose()
        except Exception:
            LOG.exception('Metrics of this process are no longer shown')

    def _listen(self, app: Callable[..., Any]) -> ApiServer:
        """Return a server on the first free port.

        :raises errors.BadConfig: no port is free, or the address cannot be used; the message names the options.
        """
        own = self._conf.metrics
        last = min(own.port + own.ports, 65536) - 1
        for port in range(own.port, last + 1):
            server = ApiServer(app, own.listen, port, _THREADS, max_body=_MOST, limits=_LIMITS,
                               options='[metrics] listen and port')
            try:
                server.start()
            except errors.BadConfig as bad:
                if not _is_in_use(bad):
                    raise
                continue
            LOG.info('Metrics of this process are at http://%s:%s/metrics', own.listen, port)
            return server
        raise errors.BadConfig(f'each of the ports {own.port} to {last} of {own.listen} is in use '
                               '(options [metrics] port and ports)')


def _is_in_use(bad: errors.BadConfig) -> bool:
    return isinstance(bad.__cause__, OSError) and bad.__cause__.errno == errno.EADDRINUSE


class _Shown:
    """The WSGI application that shows the metrics of this process, facts about the process, and metrics from the database."""

    def __init__(self, conf: cfg.ConfigOpts, identity: dict[str, str], database: Database):
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(metrics.REGISTRY)
        self._registry.register(GC_COLLECTOR)
        ProcessCollector(registry=self._registry)
        Info('manila_lite_process', 'The process that shows these metrics.', registry=self._registry).info(identity)
        self._database: Any = None
        if conf.metrics.database:
            from manila_lite.cmd.metrics_collector import FromDatabase  # needs the code of all services

            self._database = FromDatabase(conf, database)
            self._registry.register(self._database)
        self._metrics = make_wsgi_app(self._registry)

    def app(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        """Answer ``GET /metrics``."""
        if environ.get('PATH_INFO') != '/metrics' or environ['REQUEST_METHOD'] not in ('GET', 'HEAD'):
            start_response('404 Not Found', [('Content-Type', 'text/plain')])
            return [b'GET /metrics is what is served here.\n']
        return self._metrics(environ, start_response)

    def close(self) -> None:
        """Stop reading the database."""
        if self._database is not None:
            self._database.close()


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
