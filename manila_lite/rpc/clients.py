# SPDX-License-Identifier: Apache-2.0
"""The sending end of the bus. No request waits for a message or fails because of one."""

import dataclasses
import logging
import os
import threading
import time

import oslo_messaging
from oslo_config import cfg

from manila_lite import metrics
from manila_lite.rpc import TOPICS, endpoint, notifications, transport

LOG = logging.getLogger(__name__)

#: More ids than this for one receiver become "look at everything".
MAX_IDS = 100

#: After a message, its receiver gets the next one after PAUSES times as long as sending took, LONGEST_PAUSE seconds at
#: most: a message to a broker costs as much as half a request. Of a burst, the first is sent at once, the others
#: together. After one of these the pause is IN_BURST times as long: its receiver gathers work for about that time.
PAUSES, LONGEST_PAUSE, IN_BURST = 10, 0.02, 3

Receiver = tuple[str, str | None]  # topic, host or None for any


@dataclasses.dataclass
class _News:
    """Pending wake-ups for one receiver. ``all_ids``, ``all_lanes``: all of them, not only those named here."""

    ids: set[str] = dataclasses.field(default_factory=set)
    lanes: set[str] = dataclasses.field(default_factory=set)
    all_ids: bool = False
    all_lanes: bool = False

    def add(self, operation_id: str | None, lane: str | None) -> None:
        """Add an operation and its lane."""
        self.ids.add(operation_id or '')
        self.lanes.add(lane or '')
        self.all_ids |= operation_id is None or len(self.ids) > MAX_IDS
        self.all_lanes |= lane is None
        if self.all_ids:
            self.ids.clear()  # else the set could grow without end while the bus is stuck

    @property
    def many(self) -> bool:
        """Whether these are the wake-ups of several operations."""
        return self.all_ids or len(self.ids) > 1

    def shaped(self, version: str) -> dict[str, list[str]]:
        """Return the arguments of the message in that version."""
        return endpoint.shape(version, () if self.all_ids else self.ids, () if self.all_lanes else self.lanes)


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
        self._pending: dict[Receiver, _News] = {}
        self._not_before: dict[Receiver, float] = {}  # of the monotonic clock
        self._closed = False
        self._thread: threading.Thread | None = None
        self._rpc: oslo_messaging.RPCClient | None = None

    def wake(
        self, topic: str, host: str | None, operation_id: str | None = None, lane: str | None = None
    ) -> None:
        """Tell the service ``topic`` ('scheduler' or 'share') on ``host`` (None: any) to look at its operations soon.

        Returns at once. ``operation_id`` None: all operations; ``lane`` None: all lanes.
        """
        if self._pid != os.getpid():
            self._reset()  # the thread, and perhaps the lock's owner, exist only in the parent
        receiver = (TOPICS[topic], host)
        with self._changed:
            if self._closed:
                return
            self._pending.setdefault(receiver, _News()).add(operation_id, lane)
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
            for receiver, news in batch.items():
                began = time.monotonic()
                self._send(receiver, news)
                now = time.monotonic()
                pause = min(PAUSES * (now - began), LONGEST_PAUSE)
                self._not_before[receiver] = now + pause * (IN_BURST if news.many else 1)

    def _next(self) -> dict[Receiver, _News]:
        """Return the pending wake-ups of receivers whose pause is over; wait for some. Return an empty dict at the end."""
        with self._changed:
            while True:
                now = time.monotonic()
                waits = {receiver: self._not_before.get(receiver, now) - now for receiver in self._pending}
                due = [receiver for receiver, wait in waits.items() if wait <= 0 or self._closed]
                if due or self._closed:
                    return {receiver: self._pending.pop(receiver) for receiver in due}
                self._changed.wait(min(waits.values(), default=None))

    def _send(self, receiver: Receiver, news: _News) -> None:
        topic, host = receiver
        version = self._version()
        try:
            self._client().prepare(topic=topic, server=host, version=version).cast(
                {}, 'wake', **news.shaped(version)
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
