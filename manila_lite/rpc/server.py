# SPDX-License-Identifier: Apache-2.0
"""The receiving end of the bus for one service."""

import logging
import threading
from concurrent import futures
from typing import Any

import oslo_messaging
from oslo_config import cfg
from oslo_messaging.rpc import server as oslo_server

from manila_lite import context
from manila_lite.rpc import transport

LOG = logging.getLogger(__name__)


class RpcServer(oslo_server.RPCServer):
    """oslo.messaging's server on the standard library's threads: the stock ones look around once a second, so that
    they are never quite idle and take up to a second to stop.
    """

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self._executor_cls = futures.ThreadPoolExecutor


class Server:
    """Endpoints that listen on a topic, as ``host`` and as any. Make it after the fork."""

    def __init__(self, conf: cfg.ConfigOpts, topic: str, host: str, endpoints: list[Any], *,
                 services: context.Services | None = None, threads: int = 4):
        self.name = f'{topic} as {host}'
        self._threads = threads
        self._server = oslo_messaging.get_rpc_server(
            transport.get_transport(conf), oslo_messaging.Target(topic=topic, server=host), endpoints,
            serializer=transport.ContextSerializer(services), server_cls=RpcServer)
        self._starter: threading.Thread | None = None

    def start(self, patience: float = 3.0) -> bool:
        """Messages are received. With a dead broker: goes on after ``patience`` seconds and connects when it can.

        Returns whether the bus answered in time.
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
        """No message is received any more, and those received are answered. May be called twice.

        Returns False if ``timeout`` seconds were not enough for that.
        """
        if self._starter is None:
            return True
        drainer = threading.Thread(target=self._drain, name=f'bus drain: {self.name}', daemon=True)
        connecting = self._starter.is_alive()
        drainer.start()
        if connecting:                      # nothing was received; should it connect yet, it stops right away
            return True
        drainer.join(timeout)
        if drainer.is_alive():
            LOG.warning('%s: still at work after %s s, no longer waiting', self.name, timeout)
        return not drainer.is_alive()

    def _drain(self) -> None:
        self._starter.join()
        self._server.stop()
        self._server.wait()
