# SPDX-License-Identifier: Apache-2.0
"""The HTTP server of a process's metrics. It is imported only where ``[metrics] port`` is set: it takes 2 MiB."""

import errno
import logging
import os
import threading
from collections.abc import Callable
from typing import Any

from oslo_config import cfg
from prometheus_client import GC_COLLECTOR, CollectorRegistry, Info, ProcessCollector, make_wsgi_app

from manila_lite import errors, metrics, release
from manila_lite.api.server.connection_limits import Limits
from manila_lite.api.server.server import ApiServer
from manila_lite.db.core.engine import Database

LOG = logging.getLogger(__name__)

#: Seconds between tries to find a free port, and threads of the server.
_RETRY, _THREADS = 30.0, 4
#: Limits for clients: there are only a few collectors.
_LIMITS = Limits(connections=32, idle=10.0, header=10.0, body=10.0, answer=10.0)
_MOST = 1024


class MetricsServer:
    """Shows the metrics of this process, as ``service``, while it runs. ``backend``: as for the monitor."""

    def __init__(self, conf: cfg.ConfigOpts, service: str, backend: str):
        self._conf = conf
        self._service = service
        self._backend = backend

    def run(self, stopped: threading.Event) -> None:
        """Show metrics on the first port that is free, until ``stopped`` is set. Wait for one as long as there is none."""
        database = Database(self._conf)  # a separate connection: scrapes take none from the work
        identity = {
            'service': self._service,
            'release': release.VERSION,
            'host': self._conf.host,
            'backend': self._backend,
            'pid': str(os.getpid()),
        }
        shown = _Shown(self._conf, identity, database)
        while not stopped.is_set():
            try:
                server = self._listen(shown.app)
            except errors.BadConfig as bad:
                LOG.warning('Metrics of this process are not shown: %s; next try in %s s', bad, _RETRY)
                stopped.wait(_RETRY)
            else:
                stopped.wait()
                server.stop(1.0)
        shown.close()
        database.dispose()

    def _listen(self, app: Callable[..., Any]) -> ApiServer:
        """Return a server on the first free port.

        :raises errors.BadConfig: no port is free, or the address cannot be used; the message names the options.
        """
        own = self._conf.metrics
        last = min(own.port + own.ports, 65536) - 1
        for port in range(own.port, last + 1):
            server = ApiServer(
                app,
                own.listen,
                port,
                _THREADS,
                max_body=_MOST,
                limits=_LIMITS,
                options='[metrics] listen and port',
            )
            try:
                server.start()
            except errors.BadConfig as bad:
                if not _is_in_use(bad):
                    raise
                continue
            LOG.info('Metrics of this process are at http://%s:%s/metrics', own.listen, port)
            return server
        raise errors.BadConfig(
            f'each of the ports {own.port} to {last} of {own.listen} is in use '
            '(options [metrics] port and ports)'
        )


def _is_in_use(bad: errors.BadConfig) -> bool:
    return isinstance(bad.__cause__, OSError) and bad.__cause__.errno == errno.EADDRINUSE


class _Shown:
    """The WSGI application that shows the metrics of this process, facts about the process, and metrics from the database."""

    def __init__(self, conf: cfg.ConfigOpts, identity: dict[str, str], database: Database):
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(metrics.REGISTRY)
        self._registry.register(GC_COLLECTOR)
        ProcessCollector(registry=self._registry)
        Info('manila_lite_process', 'The process that shows these metrics.', registry=self._registry).info(
            identity
        )
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
