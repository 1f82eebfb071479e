# SPDX-License-Identifier: Apache-2.0
"""The built-in HTTP server: a WSGI application on a thread pool, with a clean end."""

import logging
import os
import threading
from typing import Any

from cheroot import wsgi

from manila_lite import errors
from manila_lite.api import framing

LOG = logging.getLogger(__name__)

#: Largest request line and headers together, in bytes; tokens of keystone are a few KiB.
MAX_HEADER = 65536
#: Connections that may wait to be accepted, and that may idle between requests.
BACKLOG = 128
IDLE_CONNECTIONS = 1000
#: Seconds a connection may be silent.
SILENCE = 30


class _Server(wsgi.Server):
    ConnectionClass = framing.Connection
    bind_error: OSError | None = None

    def bind(self, *args: Any, **kwargs: Any) -> Any:
        """As the base class; its caller reports the error only as a sentence, so keep it."""
        try:
            return super().bind(*args, **kwargs)
        except OSError as error:
            self.bind_error = error
            raise

    def process_conn(self, conn: Any) -> None:
        """A connection takes a thread when it has something to say, so silent ones cannot use up all threads."""
        if getattr(conn, 'was_accepted', False):
            super().process_conn(conn)
        else:
            conn.was_accepted = True
            self.put_conn(conn)

    def error_log(self, msg: str = '', level: int = logging.INFO, traceback: bool = False) -> None:
        """The server's own complaints go where all others go."""
        LOG.log(level, '%s', msg, exc_info=traceback)


class ApiServer:
    """``app`` answers on ``host`` (name, IPv4 or IPv6) and ``port`` (0: any free one)."""

    def __init__(self, app: Any, host: str, port: int, threads: int = 8, *, max_body: int = 0,
                 max_header: int = MAX_HEADER, shared: bool = False,
                 options: str = 'osapi_share_listen and osapi_share_listen_port'):
        """``max_body`` and ``max_header`` are in bytes; 0 for no limit. ``shared``: several processes listen there.

        ``options``: which ones name the address.
        """
        self.host = host
        self.port = port
        self._options = options
        self._server = _Server((host, port), app, numthreads=threads, max=threads, server_name='manila_lite',
                               request_queue_size=BACKLOG, timeout=SILENCE)
        self._server.reuse_port = shared
        self._server.keep_alive_conn_limit = IDLE_CONNECTIONS
        self._server.max_request_body_size = max_body
        self._server.max_request_header_size = max_header
        self._thread: threading.Thread | None = None

    @property
    def address(self) -> str:
        """Host and port as in a URL."""
        return f'[{self.host}]:{self.port}' if ':' in self.host else f'{self.host}:{self.port}'

    def start(self) -> None:
        """Requests are answered, and ``port`` is the real one.

        :raises BadConfig: the address cannot be bound; says which, and why.
        """
        try:
            self._server.prepare()
        except OSError as error:
            cause = self._server.bind_error or error
            reason = os.strerror(cause.errno) if cause.errno else str(cause)
            raise errors.BadConfig(f'cannot listen on {self.address}: {reason} '
                                   f'(options {self._options})') from error
        self.port = self._server.bind_addr[1]
        self._thread = threading.Thread(target=self._server.serve, name='http', daemon=True)
        self._thread.start()
        LOG.info('Listening on %s', self.address)

    def stop(self, drain: float = 30.0) -> bool:
        """Nothing is accepted any more and requests under way are answered; after ``drain`` seconds they are cut off.

        Returns False if some request did not even end then. May be called twice.
        """
        if self._thread is None:
            return True
        self._server.shutdown_timeout = drain
        stopper = threading.Thread(target=self._server.stop, name='http stop', daemon=True)
        stopper.start()
        stopper.join(drain + 2.0)       # the server itself waits for ever for a thread whose client it cut off
        if stopper.is_alive():
            LOG.warning('%s: requests still under way after %s s', self.address, drain)
            return False
        self._thread.join()
        return True
