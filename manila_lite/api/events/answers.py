# SPDX-License-Identifier: Apache-2.0
"""The answer to a client that wants to listen: a stream, or one JSON document."""

import random
from typing import Any

import webob

from manila_lite import context, errors
from manila_lite.api.events import cursor
from manila_lite.api.events.audience import Audience
from manila_lite.api.events.hub import Hub
from manila_lite.api.request import LISTENER, LISTENS, Request

STREAM, DOCUMENT = 'text/event-stream', 'application/json'
#: The least part of its time after which a listener must come back: not all at the same moment.
_PART = 0.9
_HEADERS = (('Cache-Control', 'no-store'), ('X-Accel-Buffering', 'no'))


class Answers:
    """Answers of one process to clients that listen."""

    def __init__(self, services: context.Services):
        self._hub = Hub(services)

    def answer(self, req: Request) -> webob.Response:
        """Return the answer. At the built-in server it has no body: the listener in the request's environ gives it later.

        :raises errors.NotAcceptable: the client wants another media type.
        :raises errors.Busy: too many clients listen, or wait.
        """
        kind = _kind(req)
        named = req.raw.headers.get('Last-Event-ID') or req.query.get('last_event_id') or ''
        has_loop = bool(req.raw.environ.get(LISTENS))
        listener = self._hub.admit(
            Audience.of(req, everybody=bool(req.query.get('all_tenants'))),
            cursor.parse(named),
            given=bool(named),
            stream=kind == STREAM,
            once=kind != STREAM or not has_loop,
            seconds=_seconds(req, kind, has_loop),
        )
        response = webob.Response(status=200, content_type=kind, charset=None, app_iter=())
        response.headers.update(_HEADERS)
        try:
            if not has_loop:
                with req.ctx.waiting('events'):
                    self._hub.listen(listener)
                    response.body = listener.wait()
                listener.close()
                return response
            self._hub.listen(listener)
        except BaseException:
            listener.close()
            raise
        req.raw.environ[LISTENER] = listener
        return response


def _kind(req: Request) -> str:
    offers: list[Any] = req.raw.accept.acceptable_offers([STREAM, DOCUMENT])
    if not offers:
        raise errors.NotAcceptable(
            f'Accept: events come as {STREAM}, or as {DOCUMENT}.', code='media_type_not_offered'
        )
    return str(offers[0][0])


def _seconds(req: Request, kind: str, has_loop: bool) -> float:
    """Return the time for which to listen. At a server that gives a thread to each request, also a stream is short."""
    if kind == STREAM and has_loop:
        return float(req.ctx.conf.events.listener_time * random.uniform(_PART, 1.0))
    return float(req.query.get('wait') or 0)
