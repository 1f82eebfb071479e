# SPDX-License-Identifier: Apache-2.0
"""Notifications for other programs (billing, dashboards, telemetry). No work waits for them.

    emit(services_or_ctx, event_type, payload, host=None, publisher=None) -> None

* ``services_or_ctx``: a RequestContext (``work.ctx`` in a step or a plan's end, ``ctx`` in an action), whose request
  and project are in the notification, or Services where there is none.
* ``event_type``: ``share_server.migrate.start``; types that end in ``.error`` are sent with priority ERROR, all others
  as INFO.
* ``payload``: plain values. Errors as ``errors.reason(error, request_id)``, never as ``str(error)``. ``request_id`` and
  ``project_id`` of the context are added; values of keys that sound like passwords are masked.
* ``host``: ``work.op.host`` of the operation that notifies. The publisher is ``share.<host@backend>``, or
  ``scheduler.<host>`` for an empty ``host``, as operations of the scheduler have; without ``host`` it is
  ``api.<host>``.
* ``publisher``: the whole name of the publisher, for siblings.

``emit`` returns at once and never fails; without a driver in ``[oslo_messaging_notifications]`` it does nothing.
Emitted inside the transaction that ends an operation, a notification comes at least once: a repeated end repeats it.
"""

import dataclasses
import logging
import os
import queue
import threading
import weakref
from collections.abc import Mapping
from typing import Any

from oslo_config import cfg
from oslo_utils import strutils

from manila_lite import context

LOG = logging.getLogger(__name__)

#: Notifications that wait while the broker is away; further ones are dropped, and the log says so.
BACKLOG = 10_000

_GROUP = 'oslo_messaging_notifications'


_all: weakref.WeakSet['Notifier'] = weakref.WeakSet()


@dataclasses.dataclass(frozen=True)
class _Notification:
    ctx: context.RequestContext | None
    publisher: str
    event_type: str
    payload: dict[str, Any]


class Notifier:
    """The sender of notifications, one background thread that keeps their order."""

    def __init__(self, conf: cfg.ConfigOpts):
        self._conf = conf
        self._reset()
        _all.add(self)

    def _reset(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._waiting: queue.Queue[_Notification | None] = queue.Queue(BACKLOG)
        self._thread: threading.Thread | None = None
        self._closed = self._is_full = False

    @property
    def wanted(self) -> bool:
        """Say whether a driver is configured that sends notifications."""
        return any(name != 'noop' for name in self._conf[_GROUP].driver)

    def put(self, notice: _Notification) -> None:
        """Queue a notification, to be sent soon, in this process."""
        if self._pid != os.getpid():
            self._reset()  # the thread exists only in the parent
        with self._lock:
            if self._closed:
                return
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name='bus: notifications', daemon=True)
                self._thread.start()
            self._keep(notice)

    def _keep(self, notice: _Notification) -> None:
        try:
            self._waiting.put_nowait(notice)
            self._is_full &= self._waiting.qsize() > BACKLOG / 2
        except queue.Full:
            if not self._is_full:
                LOG.error('Notifications are dropped: %s of them wait for the broker', BACKLOG)
            self._is_full = True

    def close(self, timeout: float) -> bool:
        """Accept no more notifications; return whether all were sent within ``timeout`` seconds."""
        if self._pid != os.getpid() or self._thread is None:
            return True
        with self._lock:
            if not self._closed:
                self._closed = True
                try:
                    self._waiting.put(None, timeout=timeout)
                except queue.Full:
                    return False
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        notifier = self._notifier()
        while (notice := self._waiting.get()) is not None:
            if notifier is None:
                continue
            send = notifier.prepare(publisher_id=notice.publisher)
            level = send.error if notice.event_type.endswith('.error') else send.info
            try:
                level(notice.ctx, notice.event_type, notice.payload)
            except Exception:
                LOG.exception('Notification %s could not be sent', notice.event_type)

    def _notifier(self) -> Any:
        import oslo_messaging

        from manila_lite.rpc import transport  # it is imported by all who might notify

        try:
            transport.set_rabbit_defaults(self._conf)
            way = oslo_messaging.get_notification_transport(self._conf)
            made = oslo_messaging.Notifier(way, serializer=transport.ContextSerializer())
            if made.retry < 0:
                made.retry = (
                    None  # both mean "forever", but kombu takes -1 for "not even once" when it connects
                )
            return made
        except Exception:
            LOG.exception('[%s] cannot be used: no notifications are sent', _GROUP)
            return None


def emit(
    services_or_ctx: context.Services | context.RequestContext,
    event_type: str,
    payload: Mapping[str, Any],
    host: str | None = None,
    *,
    publisher: str | None = None,
) -> None:
    """Send a notification soon; do nothing if no driver is configured. The module's docstring has the arguments."""
    try:
        notifications = services_or_ctx.bus.notifications
        if not notifications.wanted:
            return
        ctx = services_or_ctx if isinstance(services_or_ctx, context.RequestContext) else None
        about = {'request_id': ctx.request_id, 'project_id': ctx.project_id} if ctx else {}
        if publisher is None:
            publisher = (
                f'share.{host}'
                if host
                else f'{"api" if host is None else "scheduler"}.{services_or_ctx.conf.host}'
            )
        notifications.put(
            _Notification(ctx, publisher, event_type, strutils.mask_dict_password({**about, **payload}))
        )
    except Exception:
        LOG.exception('Notification %s is lost', event_type)


def drain(timeout: float) -> None:
    """Wait at most ``timeout`` seconds until the notifications of this process are sent. No more are accepted."""
    for notifications in list(_all):
        notifications.close(timeout)
