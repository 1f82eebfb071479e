# SPDX-License-Identifier: Apache-2.0
"""``inproc://``: an oslo.messaging driver inside one process, without polling. It carries messages that nobody answers.

It behaves like a broker. A message goes through JSON, so sender and receiver share no object. A queue exists from its
first listener on, and keeps messages while there is no listener; a message without a queue is dropped.
``inproc:///name`` is a separate bus for each name. Nothing is kept across processes or forks.
"""

import collections
import logging
import os
import queue
import threading
from typing import Any

from oslo_messaging._drivers import base
from oslo_serialization import jsonutils

LOG = logging.getLogger(__name__)

#: Messages that a queue without a listener keeps; the oldest are dropped first.
BACKLOG = 1000

_STOPPED = object()

Address = tuple[str, str, str | None]  # exchange, topic, server or None for "any"
Inbox = queue.SimpleQueue[Any]  # of messages as JSON, and the mark that says there will be no more


class Route:
    """The listeners on one address, which take turns; messages wait while there is no listener."""

    def __init__(self) -> None:
        self.inboxes: collections.deque[Inbox] = collections.deque()
        self.waiting: collections.deque[str] = collections.deque(maxlen=BACKLOG)

    def add(self, inbox: Inbox) -> None:
        """Let ``inbox`` take its turn from now on, and give it the messages that waited."""
        self.inboxes.append(inbox)
        while self.waiting:
            inbox.put(self.waiting.popleft())

    def deliver(self, text: str) -> None:
        """Give a message to the next listener in turn, or keep it until there is one."""
        if self.inboxes:
            self.inboxes[0].put(text)
            self.inboxes.rotate(-1)
        else:
            self.waiting.append(text)


class Bus:
    """The routes of one URL."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._routes: dict[Address, Route] = {}

    def attach(self, addresses: list[Address], inbox: Inbox) -> None:
        """Deliver messages for any of ``addresses`` to ``inbox`` from now on."""
        with self._lock:
            for address in addresses:
                self._routes.setdefault(address, Route()).add(inbox)

    def detach(self, addresses: list[Address], inbox: Inbox) -> None:
        """Put nothing more into ``inbox`` once this returns; the last item is a mark that says so."""
        with self._lock:
            for address in addresses:
                route = self._routes[address]
                if inbox in route.inboxes:
                    route.inboxes.remove(inbox)
            inbox.put(_STOPPED)

    def deliver(self, address: Address, text: str) -> None:
        """Deliver a message to the queue of an address, if there is one."""
        with self._lock:
            if address in self._routes:
                self._routes[address].deliver(text)
            else:
                LOG.debug('Dropped a message: nobody ever listened on topic %s, server %s', *address[1:])


_buses: dict[str, Bus] = {}
_buses_lock = threading.Lock()


def _bus(name: str) -> Bus:
    with _buses_lock:
        return _buses.setdefault(name, Bus())


def _forget_after_fork() -> None:
    global _buses_lock  # noqa: PLW0603  another thread may have held it at the fork
    _buses_lock = threading.Lock()
    _buses.clear()


os.register_at_fork(after_in_child=_forget_after_fork)


class Incoming(base.RpcIncomingMessage):  # type: ignore[misc]  # oslo.messaging has no types
    """A message that a server has received."""

    def __init__(self, text: str):
        content = jsonutils.loads(text)
        super().__init__(content['ctxt'], content['message'])

    def reply(self, reply: Any = None, failure: Any = None) -> None:
        """Do nothing: nobody waits for an answer."""

    requeue = heartbeat = reply


class Listener(base.PollStyleListener):  # type: ignore[misc]  # oslo.messaging has no types
    """A listener that blocks on one inbox for all its addresses: an idle one costs nothing."""

    def __init__(self, bus: Bus, addresses: list[Address]):
        super().__init__()
        self._bus = bus
        self._addresses = addresses
        self._inbox: Inbox = queue.SimpleQueue()
        bus.attach(addresses, self._inbox)

    @base.batch_poll_helper  # type: ignore[untyped-decorator]  # oslo.messaging has no types
    def poll(self, timeout: float | None = None) -> Incoming | None:
        """Return the next message; None after ``timeout`` seconds, or at once when stopped and empty."""
        try:
            text = self._inbox.get(timeout=timeout)
        except queue.Empty:
            return None
        if text is _STOPPED:
            self._inbox.put(_STOPPED)  # each later poll must find the mark as well
            return None
        return Incoming(text)

    def stop(self) -> None:
        """Take no new messages; ``poll`` returns those in the inbox and then no longer blocks."""
        self._bus.detach(self._addresses, self._inbox)


class InprocDriver(base.BaseDriver):  # type: ignore[misc]  # oslo.messaging has no types
    """The oslo.messaging driver ``inproc``."""

    def _bus(self) -> Bus:
        return _bus(self._url.virtual_host or '')

    def _address(self, target: Any, topic: str, server: str | None) -> Address:
        return (target.exchange or self._default_exchange or '', topic, server)

    def send(self, target: Any, ctxt: dict[str, Any], message: dict[str, Any], **more: Any) -> None:
        """Deliver a message.

        :raises NotImplementedError: an answer is wanted, or a message to all servers of a topic.
        """
        if more.get('wait_for_reply') or target.fanout:
            raise NotImplementedError('inproc:// has no answers, and no fanout')
        text = jsonutils.dumps({'ctxt': ctxt, 'message': message})
        self._bus().deliver(self._address(target, target.topic, target.server), text)

    def send_notification(
        self,
        target: Any,
        ctxt: dict[str, Any],
        message: dict[str, Any],
        version: float,
        retry: int | None = None,
    ) -> None:
        """Deliver a notification to a listener of the topic."""
        self.send(target, ctxt, message)

    def listen(self, target: Any, batch_size: int, batch_timeout: float | None) -> base.Listener:
        """Return a listener for messages to the server of ``target`` alone, and to its topic."""
        servers = dict.fromkeys((None, target.server))
        addresses = [self._address(target, target.topic, server) for server in servers]
        return self._adapter(addresses, batch_size, batch_timeout)

    def listen_for_notifications(
        self,
        targets_and_priorities: list[Any],
        pool: str | None,
        batch_size: int,
        batch_timeout: float | None,
    ) -> base.Listener:
        """Return a listener for each target with its priority."""
        addresses = [
            self._address(target, f'{target.topic}.{priority}', None)
            for target, priority in targets_and_priorities
        ]
        return self._adapter(addresses, batch_size, batch_timeout)

    def _adapter(
        self, addresses: list[Address], batch_size: int, batch_timeout: float | None
    ) -> base.Listener:
        return base.PollStyleListenerAdapter(Listener(self._bus(), addresses), batch_size, batch_timeout)

    def cleanup(self) -> None:
        """Do nothing: queues live as long as the process, as they would on a broker."""
