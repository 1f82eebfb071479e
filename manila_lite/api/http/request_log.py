# SPDX-License-Identifier: Apache-2.0
"""Metrics and one log line for each request. Log lines written meanwhile carry the request's id."""

import logging
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from oslo_context import context as oslo_context
from oslo_log import log

from manila_lite import context, metrics

LOG = log.getLogger(__name__)
#: For requests of unknown callers: anyone can cause any number of these lines.
STRANGERS = logging.getLogger(f'{__name__}.strangers')

#: The key in the request's environ for the template of its path, once that is known.
ROUTE = 'manila_lite.route'
HEALTHCHECK = 'healthcheck'

#: Characters of a path in the log.
_PATH = 500


#: Is told the environ, the status and the seconds of a request.
Note = Callable[[dict[str, Any], int, float], None]


def log_requests(app: Callable[..., Any], note: Note | None = None) -> Callable[..., Any]:
    """Wrap ``app`` with metrics, and a log line ``METHOD path status ... length ... time ...`` after each request,
    and the id of the request for which another service sent it. Then call ``note``.

    Neither query nor headers nor bodies are logged: they may hold secrets.
    """

    def wrapped(environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        seen: dict[str, Any] = {'status': 500, 'length': '-'}

        def start(status: str, headers: list[tuple[str, str]], *more: Any) -> Any:
            seen['status'] = int(status[:3])
            seen['length'] = next((value for name, value in headers if name.lower() == 'content-length'), '-')
            return start_response(status, headers, *more)

        began = time.perf_counter()
        ctx = context.RequestContext(
            request_id=environ.get('openstack.request_id'),
            global_request_id=environ.get('openstack.global_request_id'),
        )
        method, path = environ.get('REQUEST_METHOD', '-'), _readable(environ.get('PATH_INFO', ''))
        with context.working(ctx, f'{method} {path}'):
            try:
                return app(environ, start)
            finally:
                seen['for'] = ctx.global_request_id
                seconds = time.perf_counter() - began
                _log(method, path, environ.get(ROUTE, metrics.OTHER), seen, seconds)
                if note is not None:
                    note(environ, seen['status'], seconds)

    return wrapped


def _readable(path: str) -> str:
    """Return a path as one word: WSGI gives it decoded, and a line break in it would break the log line."""
    return quote(path.encode('latin-1', 'replace'), safe="/:@!$&'()*+,;=~%")[:_PATH]


def _log(method: str, path: str, route: str, seen: dict[str, Any], seconds: float) -> None:
    metrics.request(route, method, seen['status'], seconds)
    known = getattr(oslo_context.get_current(), 'project_id', None)
    level = logging.DEBUG if route == HEALTHCHECK else logging.INFO
    whose = f' for: {seen["for"]}' if seen['for'] else ''  # the request of a client that is itself a service
    (LOG if known else STRANGERS).log(
        level,
        '%s %s status: %s length: %s time: %.4f%s',
        quote(method, safe=''),
        path,
        seen['status'],
        seen['length'],
        seconds,
        whose,
    )
