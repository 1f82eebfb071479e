# SPDX-License-Identifier: Apache-2.0
"""The sending end of the bus. A request never waits for it and never fails by it."""

import logging
import os
import threading

import oslo_messaging
from oslo_config import cfg

from manila_lite.rpc import TOPICS, endpoint, transport

LOG = logging.getLogger(__name__)

#: More ids than this for one receiver become "look at everything".
MAX_IDS = 100

Receiver = tuple[str, str | None]           # topic, host or None for any


class Bus:
    """Sends wake-ups from one background thread; those that pile up for a receiver become one message.

    What cannot be sent is dropped: the receiver polls, so a wake-up only saves time.
    """

    def __init__(self, conf: cfg.ConfigOpts):
        self._conf = conf
        self._is_down = False
        self._reset()

    def _reset(self) -> None:
        self._pid = os.getpid()
        self._changed = threading.Condition()
        self._pending: dict[Receiver, set[str]] = {}        # an empty set: everything
        self._closed = False
        self._thread: threading.Thread | None = None
        self._rpc: oslo_messaging.RPCClient | None = None

    def wake(self, topic: str, host: str | None, operation_id: str | None = None) -> None:
        """The service ``topic`` ('scheduler' or 'share') on ``host`` (None: any) will look at its work soon.

        Returns at once. ``operation_id`` None: at all of it.
        """
        if self._pid != os.getpid():
            self._reset()                   # the thread, and perhaps the lock's owner, stayed with the parent
        receiver = (TOPICS[topic], host)
        with self._changed:
            if self._closed:
                return
            self._add(receiver, operation_id)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name='bus: wake-ups', daemon=True)
                self._thread.start()
            self._changed.notify()

    def _add(self, receiver: Receiver, operation_id: str | None) -> None:
        ids = self._pending.get(receiver)
        if operation_id is None or (ids is not None and (not ids or len(ids) >= MAX_IDS)):
            self._pending[receiver] = set()
        elif ids is None:
            self._pending[receiver] = {operation_id}
        else:
            ids.add(operation_id)

    def close(self, timeout: float | None = None) -> bool:
        """No wake-up is taken any more; say whether those taken left within ``timeout`` seconds (default: conf)."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        if self._thread is None:
            return True
        self._thread.join(self._conf.rpc.drain_timeout if timeout is None else timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._pending or self._closed)
                batch, self._pending = self._pending, {}
                if not batch:
                    return
            for receiver, ids in batch.items():
                self._send(receiver, sorted(ids))

    def _send(self, receiver: Receiver, ids: list[str]) -> None:
        topic, host = receiver
        try:
            self._client().prepare(topic=topic, server=host).cast({}, 'wake', operation_ids=ids)
        except Exception as error:
            self._report(error)
        else:
            self._report(None)

    def _client(self) -> oslo_messaging.RPCClient:
        if self._rpc is None:
            target = oslo_messaging.Target(namespace=endpoint.NAMESPACE, version=endpoint.VERSION)
            self._rpc = oslo_messaging.get_rpc_client(transport.get_transport(self._conf), target, retry=0)
        return self._rpc

    def _report(self, error: Exception | None) -> None:
        if error and not self._is_down:
            LOG.warning('Wake-ups are dropped, work is found by polling: the bus failed with %s', error)
        elif self._is_down and not error:
            LOG.warning('The bus works again')
        self._is_down = error is not None
