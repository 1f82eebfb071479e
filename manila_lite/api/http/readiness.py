# SPDX-License-Identifier: Apache-2.0
"""``/readiness``: whether this process can answer requests, and what is missing. ``/healthcheck`` says only that it lives.

Nobody needs a login for it, so each service is asked seldom, on a connection of its own, and by one caller at a time.
"""

import time
from collections.abc import Callable
from typing import Any

import orjson
import webob

from manila_lite import context, errors
from manila_lite.api.http import request_log
from manila_lite.api.http.probes import Probe
from manila_lite.db.core import database_clock
from manila_lite.db.core.engine import UNUSABLE, Database
from manila_lite.db.maintenance import schema_revisions
from manila_lite.db.queries import services as queries
from manila_lite.rpc import broker

PATH = '/readiness'
#: Seconds for which answers hold: of the database, of services to which one has to log in, and that these are away.
_HOLDS, _HOLDS_LOGIN, _HOLDS_FAILURE = 1.0, 10.0, 5.0
#: Seconds for which a caller waits for answers.
_PATIENCE = 2.0

_NO_DATABASE = 'the database does not answer'
_OLD = 'the database has not the tables of this release: run the command for its schema (db sync)'
_NO_KEYSTONE = 'Keystone does not answer: tokens cannot be checked'
_NO_LOGIN = 'Keystone refuses the login of this service: tokens cannot be checked'
_NO_BROKER = 'the broker does not answer: work is found by polling, seconds later'
_NO_SCHEDULER = 'no scheduler is up: new shares wait for manila-scheduler'
_NO_CLOCK = (
    'no scheduler claims work: the clock of its host differs from that of the database; new shares wait'
)
_CLOCK = 'the clock of this host is {} that of the database'
_NO_QUEUES = 'the broker refuses the login of this service: work is found by polling, seconds later'


class Readiness:
    """What is missing, as it was a moment ago. Without the services of ``missing`` requests are not answered."""

    def __init__(self, services: context.Services):
        self._conf = services.conf
        self._database = Database(services.conf, services.db.migrations, hurried=True)
        self._newest: list[str] = []
        self._login: Any = None
        self._missing = [Probe(self._check_database, _NO_DATABASE, _HOLDS)]
        if services.conf.auth_strategy == 'keystone':
            self._missing.append(Probe(self._check_keystone, _NO_KEYSTONE, _HOLDS_LOGIN, _HOLDS_FAILURE))
        self._degraded = [Probe(self._check_broker, _NO_BROKER, _HOLDS_LOGIN, _HOLDS_FAILURE)]
        if services.db.migrations is None:  # not of a sibling
            self._degraded.append(Probe(self._check_schedulers, _NO_SCHEDULER, _HOLDS_LOGIN, _HOLDS))
        self._degraded.append(Probe(self._check_clock, _NO_DATABASE, _HOLDS_LOGIN, _HOLDS))

    def read(self) -> tuple[list[str], list[str]]:
        """Return what is missing, and what is degraded, in words. Both are empty if all is well."""
        end = time.monotonic() + _PATIENCE
        mine = {look for look in (*self._missing, *self._degraded) if look.begin()}
        missing, degraded = (
            [look.end(end - time.monotonic()) if look in mine else look.known for look in looks]
            for looks in (self._missing, self._degraded)
        )
        return [word for word in missing if word], [word for word in degraded if word]

    def _check_database(self) -> str | None:
        self._newest = self._newest or schema_revisions.revisions(self._database)
        try:
            now = schema_revisions.current(self._database)
        except UNUSABLE:
            return _NO_DATABASE
        return _OLD if now is None or now in self._newest[:-1] else None

    def _check_keystone(self) -> str | None:
        from manila_lite.api.http.login import (
            Login,
        )  # its packages are slow to import, and not for every strategy

        self._login = self._login or Login(self._conf)
        try:
            return _NO_KEYSTONE if self._login.failure() else None
        except errors.BadConfig:
            return _NO_LOGIN

    def _check_schedulers(self) -> str | None:
        try:
            with self._database.reader() as conn:
                rows = queries.list_services(conn, {'binary': 'manila-scheduler'})
        except UNUSABLE:
            return None  # the database is missing, or its tables are
        down, most = self._conf.service_down_time, self._conf.operations.max_clock_difference
        faults = [queries.clock_fault(row, down, most) for row in rows]
        if any(queries.is_up(row, down) and not fault for row, fault in zip(rows, faults, strict=True)):
            return None
        return _NO_CLOCK if any(faults) else _NO_SCHEDULER

    def _check_clock(self) -> str | None:
        try:
            with self._database.reader() as conn:
                ahead = database_clock.compare(conn)[1]
        except UNUSABLE:
            return None  # the database is missing
        agrees = abs(ahead) <= self._conf.operations.max_clock_difference
        return None if agrees else _CLOCK.format(queries.clock_words(ahead))

    def _check_broker(self) -> str | None:
        try:
            return None if broker.answers(self._conf) else _NO_BROKER
        except errors.BadConfig:
            return _NO_QUEUES


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
    missing, degraded = readiness.read()
    response = webob.Response(
        orjson.dumps({'ready': not missing, 'missing': missing, 'degraded': degraded}),
        status=503 if missing else 200,
        content_type='application/json',
        charset='UTF-8',
    )
    response.cache_control = 'no-store'
    if missing:
        response.retry_after = 1
    return response
