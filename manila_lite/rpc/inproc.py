# SPDX-License-Identifier: Apache-2.0
"""``inproc://``: an oslo.messaging driver inside one process, without polling.

It behaves like a broker. A message goes through JSON, so sender and receiver share no object. A queue exists from its
first listener on, and keeps messages while there is no listener; a message without a queue is dropped.
``inproc:///name`` is a separate bus for each name. Nothing is kept across processes or forks.
"""

import collections
import dataclasses
import logging
import os
import queue
import threading
import time
from typing import Any

import oslo_messaging
from oslo_messaging._drivers import base
from oslo_messaging._drivers import common as wire
from oslo_serialization import jsonutils

LOG = logging.getLogger(__name__)

#: Messages that a queue without a listener keeps; the oldest are dropped first.
BACKLOG = 1000

_STOPPED = object()

Address = tuple[str, str, str | None]  # exchange, topic, server or None for "any"
Inbox = queue.SimpleQueue[Any]  # of letters, and the mark that says there will be no more


@dataclasses.dataclass
class Letter:
    """One message on its way: JSON text, and the queue for the answer if one is wanted."""

    text: str
    reply_to: queue.SimpleQueue[str] | None = None
    expires: float | None = None

    def is_late(self) -> bool:
        """Say whether the caller no longer waits."""
        return self.expires is not None and time.monotonic() > self.expires


class Route:
    """The listeners on one address, which take turns; letters wait while there is no listener."""

    def __init__(self) -> None:
        self.inboxes: collections.deque[Inbox] = collections.deque()
        self.waiting: collections.deque[Letter] = collections.deque(maxlen=BACKLOG)

    def add(self, inbox: Inbox) -> None:
        """Let ``inbox`` take its turn from now on, and give it the letters that waited."""
        self.inboxes.append(inbox)
        while self.waiting:
            inbox.put(self.waiting.popleft())

    def deliver(self, letter: Letter) -> None:
        """Give ``letter`` to the next listener in turn, or keep it until there is one."""
        if not self.inboxes:
            self.waiting.append(letter)
            return
        self.inboxes[0].put(letter)
        self.inboxes.rotate(-1)


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

    def deliver(self, address: Address, letter: Letter, fanout: bool) -> bool:
        """Deliver ``letter``; return whether there was any queue for it."""
        with self._lock:
            routes = self._servers_of(address) if fanout else [r for r in [self._routes.get(address)] if r]
            for route in routes:
                route.deliver(letter)
            return bool(routes)

    def _servers_of(self, address: Address) -> list[Route]:
        # a fanout message is not kept for queues without a listener
        return [
            route
            for (exchange, topic, server), route in self._routes.items()
            if (exchange, topic) == address[:2] and server is not None and route.inboxes
        ]


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
    """A letter that a server has received."""

    def __init__(self, letter: Letter, inbox: Inbox):
        content = jsonutils.loads(letter.text)
        super().__init__(content['ctxt'], content['message'])
        self._letter = letter
        self._inbox = inbox

    def reply(self, reply: Any = None, failure: tuple[Any, ...] | None = None) -> None:
        """Send the caller its answer, or the exception of the exc_info tuple ``failure``."""
        if self._letter.reply_to is None:
            return
        if failure:
            failure = wire.serialize_remote_exception(failure)
        self._letter.reply_to.put(jsonutils.dumps({'result': reply, 'failure': failure}))

    def requeue(self) -> None:
        """Let the message be received again."""
        self._inbox.put(self._letter)

    def heartbeat(self) -> None:
        """Do nothing: server and caller are in the same process, and die together."""


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
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            try:
                letter = self._inbox.get(timeout=left)
            except queue.Empty:
                return None
            if letter is _STOPPED:
                self._inbox.put(_STOPPED)  # each later poll must find the mark as well
                return None
            if not letter.is_late():
                return Incoming(letter, self._inbox)

    def stop(self) -> None:
        """Take no new messages; ``poll`` returns those in the inbox and then no longer blocks."""
        self._bus.detach(self._addresses, self._inbox)


class InprocDriver(base.BaseDriver):  # type: ignore[misc]  # oslo.messaging has no types
    """The oslo.messaging driver ``inproc``."""

    def __init__(
        self,
        conf: Any,
        url: Any,
        default_exchange: str | None = None,
        allowed_remote_exmods: list[str] | None = None,
    ):
        super().__init__(conf, url, default_exchange, allowed_remote_exmods)
        self._name = url.virtual_host or ''

    def _address(self, target: Any, topic: str, server: str | None) -> Address:
        return (target.exchange or self._default_exchange or '', topic, server)

    def send(
        self,
        target: Any,
        ctxt: dict[str, Any],
        message: dict[str, Any],
        wait_for_reply: bool | None = None,
        timeout: float | None = None,
        call_monitor_timeout: float | None = None,
        retry: int | None = None,
        transport_options: Any = None,
    ) -> Any:
        """Deliver a message and, if asked to, return the answer to it.

        :raises MessagingTimeout: no answer within ``timeout`` seconds, or at once when the address never had a listener.
        :raises MessageUndeliverable: ``at_least_once`` was asked for, and the address never had a listener.
        """
        del call_monitor_timeout, retry  # both guard against a broker or a peer that does not answer
        letter = Letter(jsonutils.dumps({'ctxt': ctxt, 'message': message}))
        answers: queue.SimpleQueue[str] | None = None
        if wait_for_reply:
            letter.reply_to = answers = queue.SimpleQueue()
            letter.expires = None if timeout is None else time.monotonic() + timeout
        address = self._address(target, target.topic, target.server)
        if not _bus(self._name).deliver(address, letter, bool(target.fanout)):
            self._undelivered(address, wait_for_reply, transport_options)
        return None if answers is None else self._answer(answers, timeout, target.topic)

    @staticmethod
    def _undelivered(address: Address, wait_for_reply: bool | None, transport_options: Any) -> None:
        exchange, topic, server = address
        if getattr(transport_options, 'at_least_once', False):
            raise oslo_messaging.MessageUndeliverable(Exception('no queue'), exchange, topic, server)
        if wait_for_reply:
            raise oslo_messaging.MessagingTimeout(
                f'Nobody ever listened on topic {topic}, server {server or "any"}'
            )
        LOG.debug('Dropped a message: nobody ever listened on topic %s, server %s', topic, server or 'any')

    def _answer(self, reply_to: queue.SimpleQueue[str], timeout: float | None, topic: str) -> Any:
        try:
            answer = jsonutils.loads(reply_to.get(timeout=timeout))
        except queue.Empty:
            raise oslo_messaging.MessagingTimeout(f'No answer on topic {topic} within {timeout} s') from None
        if answer['failure']:
            raise wire.deserialize_remote_exception(answer['failure'], self._allowed_remote_exmods)
        return answer['result']

    def send_notification(
        self,
        target: Any,
        ctxt: dict[str, Any],
        message: dict[str, Any],
        version: float,
        retry: int | None = None,
    ) -> None:
        """Deliver a notification to a listener of the topic."""
        del version
        self.send(target, ctxt, message, retry=retry)

    def listen(self, target: Any, batch_size: int, batch_timeout: float | None) -> base.Listener:
        """Return a listener for messages to the server of ``target`` alone, to its topic, and by fanout."""
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
        """Return a listener for each target with its priority. Pools are not supported."""
        if pool:
            raise NotImplementedError('inproc:// has no notification pools')
        addresses = [
            self._address(target, f'{target.topic}.{priority}', None)
            for target, priority in targets_and_priorities
        ]
        return self._adapter(addresses, batch_size, batch_timeout)

    def _adapter(
        self, addresses: list[Address], batch_size: int, batch_timeout: float | None
    ) -> base.Listener:
        return base.PollStyleListenerAdapter(Listener(_bus(self._name), addresses), batch_size, batch_timeout)

    def cleanup(self) -> None:
        """Do nothing: queues live as long as the process, as they would on a broker."""
