# SPDX-License-Identifier: Apache-2.0
"""The sending end of the bus. No request waits for a message or fails because of one."""

import collections
import logging
import os
import threading
import time
from collections.abc import Iterable

import oslo_messaging
from oslo_config import cfg

from manila_lite import metrics
from manila_lite.rpc import TOPICS, endpoint, notifications, transport

LOG = logging.getLogger(__name__)

#: After a message, its receiver gets the next one after PAUSES times as long as sending took, LONGEST_PAUSE seconds at
#: most: a message to a broker costs as much as half a request. Of a burst, the first is sent at once, the others
#: together. After one of these the pause is IN_BURST times as long: its receiver gathers work for about that time.
PAUSES, LONGEST_PAUSE, IN_BURST = 10, 0.02, 3

Receiver = tuple[str, str | None]  # topic, host or None for any


class Bus:
    """The sender of wake-ups, one background thread; wake-ups that wait for the same receiver become one message.

    A wake-up that cannot be sent is dropped: it only saves time, for the receiver polls.
    """

    def __init__(self, conf: cfg.ConfigOpts):
        self._conf = conf
        self._is_down = False
        #: The queue of ``notifications.emit``; it closes with the bus.
        self.notifications = notifications.Notifier(conf)
        self._reset()

    def _reset(self) -> None:
        self._pid = os.getpid()
        self._changed = threading.Condition()
        self._pending: dict[Receiver, collections.Counter[str]] = {}  # the number of wake-ups by lane
        self._not_before: dict[Receiver, float] = {}  # of the monotonic clock
        self._closed = False
        self._thread: threading.Thread | None = None
        self._rpc: oslo_messaging.RPCClient | None = None

    def wake(self, topic: str, host: str | None, lane: str) -> None:
        """Tell the service ``topic`` ('scheduler' or 'share') on ``host`` (None: any) to look for operations in this lane soon.

        Returns at once.
        """
        if self._pid != os.getpid():
            self._reset()  # the thread, and perhaps the lock's owner, exist only in the parent
        receiver = (TOPICS[topic], host)
        with self._changed:
            if self._closed:
                return
            self._pending.setdefault(receiver, collections.Counter())[lane] += 1
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name='bus: wake-ups', daemon=True)
                self._thread.start()
            self._changed.notify()

    def close(self, timeout: float | None = None) -> bool:
        """Accept no more wake-ups; return whether all were sent within ``timeout`` seconds (default: conf)."""
        if self._pid != os.getpid():
            return True  # the parent sends its own wake-ups
        if timeout is None:
            timeout = self._conf.rpc.drain_timeout
        sent = self.notifications.close(timeout)
        with self._changed:
            self._closed = True
            self._changed.notify()
        if self._thread is None:
            return sent
        self._thread.join(timeout)
        return sent and not self._thread.is_alive()

    def _run(self) -> None:
        while batch := self._next():
            for receiver, lanes in batch.items():
                began = time.monotonic()
                self._send(receiver, lanes)
                now = time.monotonic()
                pause = min(PAUSES * (now - began), LONGEST_PAUSE)
                self._not_before[receiver] = now + pause * (IN_BURST if lanes.total() > 1 else 1)

    def _next(self) -> dict[Receiver, collections.Counter[str]]:
        """Return the pending wake-ups of receivers whose pause is over; wait for some. Return an empty dict at the end."""
        with self._changed:
            while True:
                now = time.monotonic()
                waits = {receiver: self._not_before.get(receiver, now) - now for receiver in self._pending}
                due = [receiver for receiver, wait in waits.items() if wait <= 0 or self._closed]
                if due or self._closed:
                    return {receiver: self._pending.pop(receiver) for receiver in due}
                self._changed.wait(min(waits.values(), default=None))

    def _send(self, receiver: Receiver, lanes: Iterable[str]) -> None:
        topic, host = receiver
        version = self._version()
        try:
            self._client().prepare(topic=topic, server=host, version=version).cast(
                {}, 'wake', **endpoint.shape(version, lanes)
            )
        except Exception as error:
            self._report(error)
        else:
            self._report(None)

    def _version(self) -> str:
        pinned = self._conf.upgrade_levels.operations
        return endpoint.VERSION if pinned == 'auto' else pinned

    def _client(self) -> oslo_messaging.RPCClient:
        if self._rpc is None:
            target = oslo_messaging.Target(namespace=endpoint.NAMESPACE, version=endpoint.VERSION)
            self._rpc = oslo_messaging.get_rpc_client(transport.get_transport(self._conf), target, retry=0)
        return self._rpc

    def _report(self, error: Exception | None) -> None:
        metrics.wake_up(sent=error is None)
        if error and not self._is_down:
            LOG.warning('Wake-ups are dropped, work is found by polling: the bus failed with %s', error)
        elif self._is_down and not error:
            LOG.info('Wake-ups are sent again')
        self._is_down = error is not None
