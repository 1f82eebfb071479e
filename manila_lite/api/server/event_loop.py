# SPDX-License-Identifier: Apache-2.0
"""All connections of the built-in server, in one thread that never waits for a client.

Worker threads get whole requests, and give back answers that a client does not take at once. A client that keeps the
server waiting too long loses its connection.
"""

import contextlib
import functools
import logging
import os
import queue
import select
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

from manila_lite import metrics
from manila_lite.api.http import retry_after
from manila_lite.api.server.admission import Admission
from manila_lite.api.server.connection import Connection, ConnectionState
from manila_lite.api.server.connection_limits import Limits
from manila_lite.api.server.connection_table import Table
from manila_lite.api.server.framing import HttpRequest
from manila_lite.api.server.listener import Listener

LOG = logging.getLogger(__name__)

#: After an event, a connection reports no more events until they are requested again.
_IN, _OUT = select.EPOLLIN | select.EPOLLONESHOT, select.EPOLLOUT | select.EPOLLONESHOT
#: For a connection that listens: its client closes it, or is gone. Further input is left where it is.
_HUNG_UP = select.EPOLLRDHUP | select.EPOLLHUP | select.EPOLLERR
#: Bytes that the kernel keeps of the events for one client that does not read.
_KERNEL = 1 << 17
#: Seconds between checks for late connections, and seconds without new ones when closing others does not help.
_TICK, _PAUSE = 0.25, 0.5
#: Seconds and bytes that input of a client is read for, after an answer to a request that was not read to its end.
_LINGER, _LINGER_BYTES = 2.0, 1 << 24
#: Seconds that a connection without a request stays open while the server stops. Its client may be sending one just now, and
#: is told with the answer that it is the last.
_LAST = 1.0
_LATE, _FULL = '408 Request Timeout', '503 Service Unavailable'


class EventLoop(threading.Thread):
    """The thread of all connections.

    ``hand_over`` gives a connection with a request to a worker. ``urgent`` says whether a request is answered even over
    the limit of connections.
    """

    def __init__(
        self,
        listener: Listener,
        settings: Any,
        limits: Limits,
        hand_over: Callable[[Connection], None],
        urgent: Callable[[Connection], bool],
    ):
        super().__init__(name='http', daemon=True)
        self._settings, self._hand_over, self._urgent = settings, hand_over, urgent
        self._patience = {
            ConnectionState.IDLE: limits.idle,
            ConnectionState.HEAD: limits.header,
            ConnectionState.BODY: limits.body,
            ConnectionState.ANSWER: limits.answer,
            ConnectionState.LINGER: _LINGER,
        }
        self._handlers = {
            ConnectionState.IDLE: self._read,
            ConnectionState.HEAD: self._read,
            ConnectionState.BODY: self._read,
            ConnectionState.ANSWER: self._send,
            ConnectionState.LINGER: self._skip,
            ConnectionState.LISTEN: self._deliver,
        }
        self._table = Table()
        self._listener: Listener | None = listener
        self._admission = Admission(listener, self._table, limits, self._make, self._welcome)
        self._closed_until = 0.0
        self._guard = threading.Lock()
        self._back: queue.SimpleQueue[Connection] = queue.SimpleQueue()
        self._with_events: queue.SimpleQueue[Connection] = queue.SimpleQueue()
        self._rung = False
        self._wake: int | None = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._stop_at: float | None = None
        self._poll = select.epoll()
        self._poll.register(self._wake, select.EPOLLIN)
        for fd in (listener.socket, listener.passed):
            self._poll.register(fd, select.EPOLLIN)

    # Called by other threads

    def give_back(self, conn: Connection) -> None:
        """Take a connection back from a worker that has answered its request."""
        with self._guard:
            if self._wake is None:
                conn.close()
                return
            self._back.put(conn)
            os.eventfd_write(self._wake, 1)

    def tell(self, conn: Connection) -> None:
        """Take note that there are events for a connection that listens."""
        self._with_events.put(conn)
        if self._rung:  # set back before the notes are read
            return
        with self._guard:
            self._rung = True
            if self._wake is not None:
                os.eventfd_write(self._wake, 1)

    def stop(self, drain: float) -> None:
        """Accept no more connections; after ``drain`` seconds cut off those that are left."""
        with self._guard:
            self._stop_at = time.monotonic() + drain
            if self._wake is not None:
                os.eventfd_write(self._wake, 1)

    # The thread

    def run(self) -> None:
        """Serve connections until the thread was stopped and none is left."""
        looked = 0.0
        while not self._over():
            for fd, events in self._poll.poll(_TICK):
                self._serve(fd, events)
            if (now := time.monotonic()) - looked >= _TICK:
                looked = now
                self._expire(now)
        with self._guard:
            assert self._wake is not None  # nobody else closes it
            os.close(self._wake)
            self._wake = None
        for conn in self._table.all():
            if conn.state is ConnectionState.WORKING:
                with contextlib.suppress(OSError):  # the worker closes it when it gives it back
                    conn.socket.shutdown(socket.SHUT_RDWR)
            else:
                self._table.close(conn)
        self._poll.close()

    def _over(self) -> bool:
        if self._stop_at is None:
            return False
        if self._listener is not None:
            self._lock_up(self._listener)
        return not self._table or time.monotonic() > self._stop_at

    def _lock_up(self, listener: Listener) -> None:
        """Close the listener. Connected clients are still served: each request that comes soon is answered, as the last."""
        self._admission.open()
        for fd in (listener.socket, listener.passed):
            self._poll.unregister(fd)
        listener.close()
        self._listener = None
        self._patience[ConnectionState.IDLE] = min(self._patience[ConnectionState.IDLE], _LAST)
        for conn in self._table.all_in(ConnectionState.LISTEN):
            self._do(self._end, conn)

    def _serve(self, fd: int, events: int) -> None:
        conn = self._table.of(fd)
        if conn is not None:
            if conn.state is ConnectionState.LISTEN and events & _HUNG_UP:
                self._table.close(conn)
            elif conn.state in self._handlers:
                self._do(self._handlers[conn.state], conn)
        elif fd == self._wake:
            os.eventfd_read(fd)
            self._rung = False
            for told, what in ((self._back, self._take_back), (self._with_events, self._deliver)):
                with contextlib.suppress(queue.Empty):
                    while True:
                        self._do(what, told.get_nowait())
        elif self._listener is not None and fd == self._listener.passed.fileno():
            self._admission.take()
        elif self._listener is not None and not self._admission.open():
            self._poll.modify(self._listener.socket, 0)
            self._closed_until = time.monotonic() + _PAUSE

    def _do(self, what: Callable[[Connection], None], conn: Connection) -> None:
        """Run one action of a connection, and close it after an error."""
        try:
            what(conn)
        except OSError:
            self._table.close(conn)  # the client is gone
        except Exception:
            LOG.exception('Connections: unexpected error')
            self._table.close(conn)

    def _expire(self, now: float) -> None:
        for state, patience in self._patience.items():
            for conn in self._table.late(state, now - patience):
                self._do(self._late, conn)
        for conn in self._table.all_in(ConnectionState.LISTEN):
            if conn.listener.beat(now):
                self._do(self._deliver, conn)
        if self._closed_until and self._closed_until <= now and self._listener is not None:
            self._closed_until = 0.0
            self._poll.modify(self._listener.socket, select.EPOLLIN)
        self._admission.grow()

    def _make(self, sock: socket.socket, peer: tuple[Any, ...]) -> Connection:
        return Connection(sock, peer, self._settings, time.monotonic())

    def _welcome(self, conn: Connection) -> None:
        """Read the input of a new connection at once: with a request in it, it is not idle."""
        self._poll.register(conn.fd, select.EPOLLONESHOT)
        self._do(self._read, conn)

    # Actions on a connection. An OSError in any of them ends it.

    def _read(self, conn: Connection) -> None:
        try:
            more = conn.read()
        except BlockingIOError:
            self._poll.modify(conn.fd, _IN)
            return
        if more:
            self._go_on(conn)
        else:
            self._table.close(conn)

    def _go_on(self, conn: Connection) -> None:
        """Hand a whole request to a worker, refuse it, or wait for more input."""
        request = conn.request = conn.incoming.take()
        if request is None:
            self._listen(conn)
        elif request.refused:
            self._refuse(conn, request)
        elif conn.surplus and not self._urgent(conn):
            agent = request.inheaders.get(b'User-Agent', b'').decode('latin-1')
            request.simple_response(
                _FULL,
                'There are too many connections. Try again in a moment.',
                f'{retry_after.HEADER}: 1\r\n' if retry_after.suits(agent) else '',
            )
            self._refuse(conn, request)
        else:
            self._table.move(conn, ConnectionState.WORKING)
            self._hand_over(conn)

    def _listen(self, conn: Connection) -> None:
        state = (
            ConnectionState.BODY
            if conn.incoming.in_body
            else ConnectionState.HEAD
            if len(conn.incoming)
            else ConnectionState.IDLE
        )
        if state is not conn.state:
            self._table.move(conn, state)
        conn.flush()  # 100 Continue
        self._poll.modify(conn.fd, _IN)
        self._table.weigh(conn)
        self._admission.lighten()

    def _refuse(self, conn: Connection, request: HttpRequest) -> None:
        status = request.refused
        LOG.info('%s: refused with %s', conn.remote_addr, status)
        metrics.gave_up(status[:3])
        conn.ends = conn.lingers = True
        self._send(conn)

    def _send(self, conn: Connection) -> None:
        if not conn.flush():
            if conn.state is not ConnectionState.ANSWER:
                self._table.move(conn, ConnectionState.ANSWER)
            self._poll.modify(conn.fd, _OUT)
            self._table.weigh(conn)
            self._admission.lighten()
        elif conn.lingers:
            self._linger(conn)
        elif conn.ends:
            self._table.close(conn)
        else:
            self._go_on(conn)

    def _take_back(self, conn: Connection) -> None:
        if conn.listener is None:
            self._send(conn)
            return
        self._table.move(conn, ConnectionState.LISTEN)
        conn.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _KERNEL)
        conn.listener.tell = functools.partial(self.tell, conn)
        if self._stop_at is None:
            self._deliver(conn)
        else:
            self._end(conn)

    def _end(self, conn: Connection) -> None:
        """End a connection that listens: its client comes back, to another process."""
        conn.listener.end()
        conn.ends = True
        self._deliver(conn)

    def _deliver(self, conn: Connection) -> None:
        """Send events, or the end of them. A client that falls too far behind loses the connection."""
        if conn.state is not ConnectionState.LISTEN or self._table.of(conn.fd) is not conn:
            return
        request = conn.request
        assert request is not None  # the listener gives the rest of its answer
        data, ends = conn.listener.take()
        if data:
            request.write(data)
        if ends:
            request.finish()
            conn.forget_listener()
            self._send(conn)
            return
        flushed = conn.flush()
        if conn.size > conn.listener.buffer:
            self._admission.give_up(conn, 'slow')
            return
        self._poll.modify(conn.fd, _HUNG_UP | (select.EPOLLONESHOT if flushed else _OUT))
        self._table.weigh(conn)
        self._admission.lighten()

    def _linger(self, conn: Connection) -> None:
        """Stop sending, but read on: a client that is still sending would lose the answer if the connection closed now."""
        conn.hang_up()
        self._table.move(conn, ConnectionState.LINGER)
        self._table.weigh(conn)
        self._poll.modify(conn.fd, _IN)

    def _skip(self, conn: Connection) -> None:
        with contextlib.suppress(BlockingIOError):
            if not conn.skip() or conn.skipped > _LINGER_BYTES:
                self._table.close(conn)
                return
        self._poll.modify(conn.fd, _IN)

    def _late(self, conn: Connection) -> None:
        if conn.state in (ConnectionState.HEAD, ConnectionState.BODY):
            what = 'headers' if conn.state is ConnectionState.HEAD else 'body'
            conn.request = request = conn.incoming.refuse(_LATE, f'The {what} took too long.')
            self._refuse(conn, request)
        elif conn.state is ConnectionState.ANSWER:
            self._admission.give_up(conn, 'unread')
        else:
            self._table.close(conn)
