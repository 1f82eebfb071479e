# SPDX-License-Identifier: Apache-2.0
"""Notifications: what other programs (billing, dashboards, telemetry) may hear of. Nobody waits for them.

    emit(services_or_ctx, event_type, payload, host=None, publisher=None) -> None

* ``services_or_ctx``: a RequestContext (``work.ctx`` in a step or a plan's end, ``ctx`` in an action), whose request and
  project are in the notification, or Services where there is none.
* ``event_type``: ``share_server.migrate.start``; what ends in ``.error`` is sent with priority ERROR, all else as INFO.
* ``payload``: plain values. Errors as ``errors.told(error)``, never as ``str(error)``. ``request_id`` and ``project_id``
  of the context are added; values of keys that sound like passwords are masked.
* ``host``: ``work.op.host`` of the operation that speaks: publisher ``share.<host@backend>``, or ``scheduler.<host>``, whose
  operations have an empty one; without it the API speaks: ``api.<host>``.
* ``publisher``: as whom a sibling speaks, whole.

It returns at once and never fails; without a driver in ``[oslo_messaging_notifications]`` it does nothing. Emitted inside
the transaction that ends an operation, a notification comes at least once: a repeated end repeats it.
"""

import dataclasses
import logging
import os
import queue
import threading
import weakref
from collections.abc import Mapping
from typing import Any

import oslo_messaging
from oslo_config import cfg
from oslo_utils import strutils

from manila_lite import context
from manila_lite.rpc import transport

LOG = logging.getLogger(__name__)

#: So many wait while the broker is away; what comes then is dropped, and said.
BACKLOG = 10_000

_GROUP = 'oslo_messaging_notifications'


_all: weakref.WeakSet['Notices'] = weakref.WeakSet()


@dataclasses.dataclass(frozen=True)
class _Notice:
    ctx: context.RequestContext | None
    publisher: str
    event_type: str
    payload: dict[str, Any]


class Notices:
    """Sends notifications from one background thread, in the order in which they came."""

    def __init__(self, conf: cfg.ConfigOpts):
        self._conf = conf
        self._reset()
        _all.add(self)

    def _reset(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._waiting: queue.Queue[_Notice | None] = queue.Queue(BACKLOG)
        self._thread: threading.Thread | None = None
        self._closed = self._is_full = False

    @property
    def wanted(self) -> bool:
        """Say whether there is a driver that would send any."""
        return any(name != 'noop' for name in self._conf[_GROUP].driver)

    def put(self, notice: _Notice) -> None:
        """It is sent soon, in this process."""
        if self._pid != os.getpid():
            self._reset()                   # the thread stayed with the parent
        with self._lock:
            if self._closed:
                return
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name='bus: notifications', daemon=True)
                self._thread.start()
            self._keep(notice)

    def _keep(self, notice: _Notice) -> None:
        try:
            self._waiting.put_nowait(notice)
            self._is_full &= self._waiting.qsize() > BACKLOG / 2
        except queue.Full:
            if not self._is_full:
                LOG.error('Notifications are dropped: %s of them wait for the broker', BACKLOG)
            self._is_full = True

    def close(self, timeout: float) -> bool:
        """None is taken any more; say whether those taken left within ``timeout`` seconds."""
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

    def _notifier(self) -> oslo_messaging.Notifier | None:
        try:
            way = oslo_messaging.get_notification_transport(self._conf)
            made = oslo_messaging.Notifier(way, serializer=transport.ContextSerializer())
            if made.retry < 0:
                made.retry = None           # both mean "for ever"; but kombu takes -1 for "not even once" when it connects
            return made
        except Exception:
            LOG.exception('[%s] cannot be worked with: no notifications are sent', _GROUP)
            return None


def emit(services_or_ctx: context.Services | context.RequestContext, event_type: str, payload: Mapping[str, Any],
         host: str | None = None, *, publisher: str | None = None) -> None:
    """Whoever listens hears of it soon, or nobody does if no driver is configured. See above."""
    try:
        notices = services_or_ctx.bus.notices
        if not notices.wanted:
            return
        ctx = services_or_ctx if isinstance(services_or_ctx, context.RequestContext) else None
        about = {'request_id': ctx.request_id, 'project_id': ctx.project_id} if ctx else {}
        if publisher is None:
            publisher = f'share.{host}' if host else f'{"api" if host is None else "scheduler"}.{services_or_ctx.conf.host}'
        notices.put(_Notice(ctx, publisher, event_type, strutils.mask_dict_password({**about, **payload})))
    except Exception:
        LOG.exception('Notification %s is lost', event_type)


def drain(timeout: float) -> None:
    """What was emitted in this process has left, or ``timeout`` seconds have passed. Nothing is taken any more."""
    for notices in list(_all):
        notices.close(timeout)
