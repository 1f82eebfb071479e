# SPDX-License-Identifier: Apache-2.0
"""``/readiness``: whether this process can answer requests, and what is missing. ``/healthcheck`` says only that it lives.

Nobody needs a login for it, so the database is asked once a second at most, on a connection of its own.
"""

import threading
import time
from collections.abc import Callable
from typing import Any

import orjson
import webob

from manila_lite import context
from manila_lite.api.http import request_log
from manila_lite.db.core.engine import UNUSABLE, Database
from manila_lite.db.maintenance import schema_migrations

PATH = '/readiness'
#: Seconds for which an answer holds.
_HOLDS = 1.0
_AWAY = 'the database does not answer'
_OLD = 'the database has not the tables of this release: run the command for its schema (db sync)'


class Readiness:
    """What is missing, as it was a second ago at most."""

    def __init__(self, services: context.Services):
        self._database = Database(services.conf, services.db.migrations, hurried=True)
        self._lock = threading.Lock()
        self._known: list[str] = []
        self._until = 0.0
        self._newest: list[str] = []

    def missing(self) -> list[str]:
        """Return what is missing, in words; nothing if the process is ready."""
        with self._lock:
            if time.monotonic() >= self._until:
                self._known = self._look()
                self._until = time.monotonic() + _HOLDS
            return self._known

    def _look(self) -> list[str]:
        self._newest = self._newest or schema_migrations.revisions(self._database)
        try:
            now = schema_migrations.current(self._database)
        except UNUSABLE:
            return [_AWAY]
        return [_OLD] if now is None or now in self._newest[:-1] else []


def answer_readiness(app: Callable[..., Any], services: context.Services) -> Callable[..., Any]:
    """Answer ``/readiness``, and let ``app`` answer every other path."""
    readiness = Readiness(services)

    def wrapped(environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        if environ.get('PATH_INFO', '').rstrip('/') != PATH:
            return app(environ, start_response)
        environ[request_log.ROUTE] = request_log.HEALTHCHECK
        return _answer(environ, readiness)(environ, start_response)
    return wrapped


def _answer(environ: dict[str, Any], readiness: Readiness) -> webob.Response:
    if environ.get('REQUEST_METHOD') not in ('GET', 'HEAD'):
        return webob.Response(status=405, allow=('GET', 'HEAD'))
    missing = readiness.missing()
    response = webob.Response(orjson.dumps({'ready': not missing, 'missing': missing}), status=503 if missing else 200,
                              content_type='application/json', charset='UTF-8')
    response.cache_control = 'no-store'
    if missing:
        response.retry_after = 1
    return response
