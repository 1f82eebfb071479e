# SPDX-License-Identifier: Apache-2.0
"""The built-in HTTP server: a WSGI application on a thread pool, with a clean stop. No client can block a thread of it.

Several processes can answer on one address: a listener that was opened before they were forked is theirs together, and
outlives each of them.
"""

import dataclasses
import ipaddress
import logging
import os
import queue
import socket
import threading
import time
from typing import Any

from cheroot import wsgi
from oslo_utils import netutils

from manila_lite import errors
from manila_lite.api.server.connection import Connection
from manila_lite.api.server.connection_limits import DEFAULTS, Limits
from manila_lite.api.server.event_loop import EventLoop
from manila_lite.api.server.listener import Listener

LOG = logging.getLogger(__name__)

#: Largest request line and headers together, in bytes; tokens of keystone are a few KiB.
MAX_HEADER = 65536
#: Connections that may wait for accept.
BACKLOG = 1024
#: Addresses that mean any address, of IPv4 too.
_ANY = ('::', '::0')
#: The path with a thread of its own, so that it is answered while all others are busy.
_HEALTH = b'/healthcheck'


@dataclasses.dataclass
class Settings:
    """The attributes that cheroot's requests and gateways need of their server."""

    wsgi_app: Any
    max_request_body_size: int
    max_request_header_size: int
    bind_addr: tuple[str, int]
    timeout: int
    gateway: Any = wsgi.Gateway_10
    protocol: str = 'HTTP/1.1'
    server_name: str = 'manila_lite'
    software: str = 'manila_lite'
    ssl_adapter: Any = None
    can_add_keepalive_connection: bool = True


class ApiServer:
    """Serves ``app`` on ``host`` (name, IPv4 or IPv6) and ``port`` (0: any free one)."""

    def __init__(
        self,
        app: Any,
        host: str,
        port: int,
        threads: int = 8,
        *,
        max_body: int = 0,
        max_header: int = MAX_HEADER,
        listener: Listener | None = None,
        limits: Limits = DEFAULTS,
        options: str = 'osapi_share_listen and osapi_share_listen_port',
    ):
        """``max_body`` and ``max_header`` are in bytes; 0 for no limit. ``listener``: from ``listen`` of another server.

        ``options``: the names of the options for the address, for messages.
        """
        self.host = host
        self.port = port
        self._threads = threads
        self._listener = listener
        self._limits = limits
        self._options = options
        self._settings = Settings(app, max_body, max_header, (host, port), int(limits.idle))
        self._requests: queue.SimpleQueue[Connection | None] = queue.SimpleQueue()
        self._health: queue.SimpleQueue[Connection | None] = queue.SimpleQueue()
        self._workers: list[threading.Thread] = []
        self._crowd: EventLoop | None = None

    @property
    def address(self) -> str:
        """Host and port as in a URL."""
        return f'[{self.host}]:{self.port}' if ':' in self.host else f'{self.host}:{self.port}'

    def listen(self) -> Listener:
        """Return a listener on the address, for servers in this process and in those forked from it. Answers nothing.

        :raises BadConfig: the address cannot be bound; the message names it, and the reason.
        """
        try:
            return Listener(self._bind(), self._settings.wsgi_app)
        except OSError as error:
            number = error.errno or 0
            reason = os.strerror(number) if number > 0 else str(error)
            raise errors.BadConfig(
                f'cannot listen on {self.address}: {reason} (options {self._options})'
            ) from error

    def start(self) -> None:
        """Start answering requests, and set ``port`` to the real one.

        :raises BadConfig: as ``listen`` does, unless there is a listener.
        """
        listener = self._listener or self.listen()
        if not self._is_at(*listener.socket.getsockname()[:2]):
            LOG.warning(
                'Not listening on %s yet: that needs a restart (options %s)', self.address, self._options
            )
        self.port = listener.socket.getsockname()[1]
        self._settings.bind_addr = (self.host, self.port)
        self._crowd = crowd = EventLoop(
            listener, self._settings, self._limits.fitting(), self._hand_over, _is_health
        )
        self._workers = [
            threading.Thread(target=self._work, args=(requests, crowd), name=name, daemon=True)
            for name, requests in (
                ('http health', self._health),
                *((f'http {number}', self._requests) for number in range(self._threads)),
            )
        ]
        LOG.info(
            'Listening on %s%s',
            self.address,
            f', for this machine only (options {self._options})' if self._is_private() else '',
        )
        for thread in (*self._workers, crowd):
            thread.start()

    def _is_private(self) -> bool:
        return netutils.is_valid_ip(self.host) and ipaddress.ip_address(self.host).is_loopback

    def _is_at(self, host: str, port: int) -> bool:
        """Say whether the address in numbers is that of the server."""
        try:
            return self._resolve()[1] == host and self.port in (0, port)
        except OSError:
            return False

    def _resolve(self) -> tuple[socket.AddressFamily, str]:
        found = socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        return found[0], str(found[4][0])

    def _bind(self) -> socket.socket:
        listener = socket.create_server(
            (self.host, self.port),
            family=self._resolve()[0],
            backlog=BACKLOG,
            dualstack_ipv6=self.host in _ANY and socket.has_dualstack_ipv6(),
        )
        listener.setblocking(False)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # connections have it from here
        return listener

    def _hand_over(self, conn: Connection) -> None:
        (self._health if _is_health(conn) else self._requests).put(conn)

    def _work(self, requests: queue.SimpleQueue[Connection | None], crowd: EventLoop) -> None:
        while (conn := requests.get()) is not None:
            conn.answer()
            crowd.give_back(conn)

    def stop(self, drain: float = 30.0) -> bool:
        """Accept no more connections, and finish running requests; after ``drain`` seconds they are cut off.

        Answers say that they are the last of their connections. A client that is silent for a second gets no other.
        Return False if some request did not end even then. May be called twice.
        """
        if self._crowd is None:
            return True
        self._settings.can_add_keepalive_connection = False
        end = time.monotonic() + drain
        self._crowd.stop(drain)
        self._crowd.join()
        for requests, number in ((self._health, 1), (self._requests, self._threads)):
            for _ in range(number):
                requests.put(None)
        for thread in self._workers:
            thread.join(max(1.0, end - time.monotonic()))
        if any(thread.is_alive() for thread in self._workers):
            LOG.warning('%s: requests still under way after %s s', self.address, drain)
            return False
        return True


def _is_health(conn: Connection) -> bool:
    assert conn.request is not None  # it is there before anybody asks
    return bool(conn.request.path.rstrip(b'/') == _HEALTH)
