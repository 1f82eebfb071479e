# SPDX-License-Identifier: Apache-2.0
"""The receiving end of the bus for one service."""

import logging
import threading
from concurrent import futures
from typing import Any

import oslo_messaging
from oslo_config import cfg
from oslo_messaging.rpc import dispatcher as oslo_dispatcher
from oslo_messaging.rpc import server as oslo_server

from manila_lite.rpc import transport

LOG = logging.getLogger(__name__)


class RpcServer(oslo_server.RPCServer):  # type: ignore[misc]  # oslo.messaging has no types
    """oslo.messaging's server on the standard library's threads. The stock threads poll once a second: they are never
    quite idle and take up to a second to stop.
    """

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self._executor_cls = futures.ThreadPoolExecutor


class Dispatcher(oslo_dispatcher.RPCDispatcher):  # type: ignore[misc]  # oslo.messaging has no types
    """oslo.messaging's dispatcher. A message of an unknown version is logged in one line, once, without a traceback."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self._unknown: set[str] = set()

    def dispatch(self, incoming: Any) -> None:
        """Pass the message to the endpoint. Nobody waits for an answer."""
        try:
            super().dispatch(incoming)
        except (oslo_messaging.UnsupportedVersion, oslo_messaging.NoSuchMethod) as unknown:
            if str(unknown) not in self._unknown:
                self._unknown.add(str(unknown))
                LOG.warning(
                    'A message of another version is dropped, the work is found by polling: %s', unknown
                )


class Server:
    """Endpoints that listen on a topic, for ``host`` and for any host. Make it after the fork."""

    def __init__(
        self, conf: cfg.ConfigOpts, topic: str, host: str, endpoints: list[Any], *, threads: int = 4
    ):
        self.name = f'{topic} as {host}'
        self._threads = threads
        self._patience = conf.rpc.drain_timeout
        self._server = RpcServer(
            transport.get_transport(conf),
            oslo_messaging.Target(topic=topic, server=host),
            Dispatcher(endpoints, oslo_messaging.NoOpSerializer()),
        )
        self._starter: threading.Thread | None = None

    def start(self, patience: float = 3.0) -> bool:
        """Receive messages. If the broker does not answer: go on after ``patience`` seconds and connect in the background.

        :returns: whether the bus answered in time.
        """
        self._starter = threading.Thread(target=self._start, name=f'bus: {self.name}', daemon=True)
        self._starter.start()
        self._starter.join(patience)
        if self._starter.is_alive():
            LOG.warning('%s: the bus does not answer; work is found by polling until it does', self.name)
            return False
        return True

    def _start(self) -> None:
        try:
            self._server.start(override_pool_size=self._threads)
        except Exception:
            LOG.exception('%s: cannot listen; work is found by polling', self.name)

    def stop(self, timeout: float | None = None) -> bool:
        """Receive no more messages, and wait until those received are answered. May be called twice.

        :returns: False if ``timeout`` seconds (default: conf) were not enough. A broker that does not answer may hold
            its consumers for minutes.
        """
        timeout = self._patience if timeout is None else timeout
        starter = self._starter
        if starter is None:
            return True
        drainer = threading.Thread(
            target=self._drain, args=(starter,), name=f'bus drain: {self.name}', daemon=True
        )
        connecting = starter.is_alive()
        drainer.start()
        if connecting:  # nothing was received; if it connects later, it stops at once
            return True
        drainer.join(timeout)
        if drainer.is_alive():
            LOG.warning('%s: still at work after %s s, no longer waiting', self.name, timeout)
        return not drainer.is_alive()

    def _drain(self, starter: threading.Thread) -> None:
        starter.join()
        self._server.stop()
        self._server.wait()
