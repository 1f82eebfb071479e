#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the processor time of a created share is spent on: by the library whose code runs, and by the part of the product. And
that of a row of a list, in the API.

API (without an HTTP server), scheduler and share manager are in this process, with MariaDB, RabbitMQ and Keystone beside it,
and eight clients. The time of the threads of each part, measured without a profile, is divided as a profile says, which makes
many small functions look dearer than they are. What C code does for a module counts as that module's.
"""

import manila_lite.cmd  # noqa: F401, I001 - must come first: threads, not eventlet

import collections
import concurrent.futures
import contextlib
import cProfile
import io
import json
import pstats
import re
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Self

import cloud
import product
import report

from manila_lite.api.http import app
from manila_lite.cmd import setup
from manila_lite.db.maintenance import schema_migrations
from manila_lite.db.queries import share_types
from manila_lite.manager.runtime.service import ShareManager
from manila_lite.rpc import transport
from manila_lite.scheduler.service import Scheduler
CLIENTS = 8
#: Rows of a list.
PAGE = 1000
#: Piece -> where its code is, the first that fits.
PIECES = {
    'driver of the database': '/(pymysql|MySQLdb)/',
    'SQLAlchemy and oslo.db': '/(sqlalchemy|oslo_db)/',
    'messages': '/(oslo_messaging|kombu|amqp|vine)/',
    'login': '/(keystonemiddleware|keystoneauth1|requests|urllib3)/',
    'web framework': '/(pecan|webob)/',
    'log': '/(logging|oslo_log)/',
    'other oslo libraries': '/oslo_[a-z]+/',
    'our API': '/manila_lite/(api|actions|policies)/',
    'our statements': '/manila_lite/db/',
    'our engine': '/manila_lite/engine/',
    'our dummy driver': '/manila_lite/drivers/',
    'the rest of ours': '/manila_lite/',
}
LIBRARY = "Python's library"
#: Part of the product -> the names of its threads.
PARTS = {'API': 'client', 'scheduler': 'scheduler', 'manager': 'share'}
BUS = 'messages'


def piece(path: str) -> str:
    """Return the piece whose code is in the file."""
    return next((name for name, where in PIECES.items() if re.search(where, path)), LIBRARY)


def part(thread: str) -> str:
    """Return the part of the product that the thread belongs to; sending and receiving of messages are apart."""
    return next((name for name, begin in PARTS.items() if thread.startswith(begin)), BUS)


class Profile:
    """The time of each thread that was started meanwhile, by function."""

    def __init__(self) -> None:
        self._found: list[tuple[str, cProfile.Profile]] = []

    def _begin(self, *event: Any) -> None:
        sys.setprofile(None)
        mine = cProfile.Profile(time.thread_time)
        self._found.append((threading.current_thread().name, mine))
        mine.enable()

    def __enter__(self) -> Self:
        threading.setprofile(self._begin)
        return self

    def __exit__(self, *error: object) -> None:
        threading.setprofile(None)      # type: ignore[arg-type]

    def fractions(self) -> dict[str, dict[str, float]]:
        """Return by part the fraction of its time that each piece took, the largest first, once the threads have ended."""
        times: dict[str, collections.Counter] = collections.defaultdict(collections.Counter)
        for thread, profile in self._found:
            for (path, _, _), (_, _, own, _, callers) in pstats.Stats(profile).stats.items():
                mine = times[part(thread)]
                if path != '~':
                    mine[piece(path)] += own
                for (caller, _, _), (_, _, theirs, _) in callers.items() if path == '~' else ():
                    mine[piece(caller)] += theirs
        return {name: {what: value / mine.total() for what, value in mine.most_common()} for name, mine in times.items()}


def clocks() -> dict[int, float]:
    """Return the processor seconds of each thread of this process, by its number."""
    return {one.ident: time.clock_gettime(time.pthread_getcpuclockid(one.ident)) for one in threading.enumerate() if one.ident}


def used(before: dict[int, float]) -> collections.Counter:
    """Return the processor seconds of each part since the clocks were as ``before``."""
    names, times = {one.ident: one.name for one in threading.enumerate()}, collections.Counter()
    for ident, value in clocks().items():
        times[part(names.get(ident, ''))] += value - before.get(ident, 0.0)
    return times


class Inside:
    """The product in this process."""

    def __init__(self, services: Any, token: str):
        self.services = services
        self._token = token
        self._app: Callable = app.make(services)

    def ask(self, method: str, path: str, body: dict | None = None) -> Any:
        """Return the answer to a request that must succeed. One that is refused for a moment is sent again, as it says."""
        while True:
            status, answer = self._once(method, path, body)
            if status.startswith('2'):
                return json.loads(answer)
            if b'"too_many_waiting"' not in answer:
                raise RuntimeError(f'{method} {path}: {status} {answer[:500]!r}')
            time.sleep(1)

    def _once(self, method: str, path: str, body: dict | None) -> tuple[str, bytes]:
        text, status = json.dumps(body or {}).encode(), []
        path, _, query = path.partition('?')
        answer = b''.join(self._app({
            'REQUEST_METHOD': method, 'PATH_INFO': f'/v2{path}', 'QUERY_STRING': query, 'SCRIPT_NAME': '',
            'SERVER_NAME': 'localhost', 'SERVER_PORT': '80', 'SERVER_PROTOCOL': 'HTTP/1.1', 'wsgi.url_scheme': 'http',
            'wsgi.input': io.BytesIO(text), 'wsgi.errors': sys.stderr, 'wsgi.version': (1, 0), 'wsgi.multithread': True,
            'wsgi.multiprocess': False, 'wsgi.run_once': False, 'CONTENT_LENGTH': str(len(text)),
            'CONTENT_TYPE': 'application/json', 'HTTP_HOST': 'localhost', 'HTTP_X_AUTH_TOKEN': self._token,
            'HTTP_X_OPENSTACK_MANILA_API_VERSION': '2.86'}, lambda line, headers, error=None: status.append(line)))
        return status[0], answer

    def made(self, count: int, database: cloud.Database) -> collections.Counter:
        """Make shares by eight clients. Return the processor seconds of each part until all are available."""
        with concurrent.futures.ThreadPoolExecutor(CLIENTS, 'client') as clients:
            before = clocks()
            made = list(clients.map(lambda _: self.ask('POST', '/shares', product.SHARE)['share']['id'], range(count)))
            while database.count(made, 'available') < count:
                time.sleep(0.05)
            return used(before)

    def listed(self, count: int) -> float:
        """Have one client read the list of all shares so many times. Return the processor seconds."""
        with concurrent.futures.ThreadPoolExecutor(1, 'client') as clients:
            before = clocks()
            list(clients.map(lambda _: self._once('GET', f'/shares/detail?limit={PAGE}', None), range(count)))
            return used(before)['API']


@contextlib.contextmanager
def running(services: Any) -> Iterator[None]:
    """Let a scheduler and a share manager work inside the block."""
    parts = [ShareManager(services, 'alpha'), Scheduler(services)]
    for one in parts:
        one.start()
    try:
        yield
    finally:
        for one in parts:
            one.stop()


@cloud.measured
def measure(figures: report.Report) -> None:
    """Start everything, measure, and add the lines.

    :raises daemon.Missing: a server is not installed.
    """
    count = figures.pick(8, 400, 2000)
    warm = max(8, count // 10)
    with contextlib.ExitStack() as stack:
        around = cloud.Cloud(stack, driver=figures.args.driver)
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix='manila-lite-bench-'))
        url = around.database(folder)
        made = product.Product(folder, url, around.bus(), around.keystone.middleware)
        services = setup.services(setup.configure([f'--config-file={made.config}']))
        stack.callback(transport.cleanup)
        stack.callback(services.db.dispose)
        stack.callback(services.bus.close, 1)
        schema_migrations.upgrade(services.db)
        with services.db.writer() as conn:
            share_types.create(conn, 'default', {'driver_handles_share_servers': 'False'})
        ours, database = Inside(services, around.token()), around.watch(url)
        with running(services):
            ours.made(warm, database)
            times = ours.made(count, database)
        with Profile() as profile, running(services):
            ours.made(count, database)
        pages, rows = figures.pick(2, 10, 40), min(PAGE, warm + 2 * count)
        ours.listed(pages)
        row = ours.listed(pages) / pages / rows
        with Profile() as lists:
            ours.listed(pages)
    fractions = profile.fractions()
    whole = figures.add('a share', times.total() / count * 1e3, 'ms')
    for name in (*PARTS, BUS):
        each = times[name] / count * 1e3
        figures.add(name, each, 'ms', whole)
        for what, value in fractions[name].items():
            figures.add(f'{name}: {what}', each * value, 'ms', whole)
    listed = figures.add('a row of a list', row * 1e6, 'us')
    for what, value in lists.fractions()['API'].items():
        figures.add(f'row: {what}', row * 1e6 * value, 'us', listed)
    figures.note(f'Processor time; {count} shares, with {figures.args.driver}. Without the HTTP server and the clients.')


if __name__ == '__main__':
    sys.exit(report.main(__doc__, measure, {
        '--driver': {'choices': ['pymysql', 'mysqldb'], 'default': 'pymysql', 'help': 'of MariaDB; default: pymysql'}}))
