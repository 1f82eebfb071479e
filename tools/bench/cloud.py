# SPDX-License-Identifier: Apache-2.0
"""Servers around a product, on the loopback: a database, RabbitMQ, Keystone; with counts of their own work."""

import contextlib
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import fixtures
import product
import psutil
import psycopg2
import pymysql
import report
import sqlalchemy as sa

from manila_lite.tests.services import broker, daemon, databases, keystone, places

_DEMO = ('demo', 'demo')
_ADMIN = (keystone.ADMIN, keystone.ADMIN)


class MariaDB(databases.MariaDB):
    """A MariaDB that keeps its data in memory, and statistics of its tables as it does unless told otherwise."""

    def command(self) -> list[str]:
        """Return the server's command line."""
        return [*super().command(), '--innodb-buffer-pool-size=1G', '--innodb-stats-persistent=1']


class PostgreSQL(databases.PostgreSQL):
    """A PostgreSQL that keeps its data in memory, and counts statements."""

    def command(self) -> list[str]:
        """Return the postmaster's command line."""
        return [
            *super().command(),
            '-c',
            'shared_buffers=1GB',
            '-c',
            'shared_preload_libraries=pg_stat_statements',
        ]


def _mariadb(url: sa.URL) -> Any:
    return pymysql.connect(
        host=url.host,
        port=url.port,
        user=url.username,
        password=url.password,
        database=url.database,
        autocommit=True,
    )


def _postgresql(url: sa.URL) -> Any:
    conn = psycopg2.connect(
        host=url.host, port=url.port, user=url.username, password=url.password, dbname=url.database
    )
    conn.autocommit = True
    return conn


def _sqlite(url: sa.URL) -> Any:
    return sqlite3.connect(url.database, isolation_level=None)


#: By name: the server, how to connect, the statement that returns the number of statements so far, and one that goes before it.
KINDS: dict[str, tuple[type[daemon.Daemon] | None, Callable[[sa.URL], Any], str, str]] = {
    'mariadb': (
        MariaDB,
        _mariadb,
        "SELECT variable_value FROM information_schema.global_status WHERE variable_name = 'Questions'",
        '',
    ),
    'postgresql': (
        PostgreSQL,
        _postgresql,
        'SELECT sum(calls) FROM pg_stat_statements',
        'CREATE EXTENSION IF NOT EXISTS pg_stat_statements',
    ),
    'sqlite': (None, _sqlite, '', ''),
}


class Database:
    """A database of one product, seen from beside: its server's count of statements, and the rows of shares."""

    def __init__(self, kind: str, url: str):
        _, connect, self._count, first = KINDS[kind]
        self.url = url
        self._conn = connect(sa.make_url(url))
        self._asked = 0
        if first:
            self.ask(first)

    def ask(self, statement: str) -> Any:
        """Return the first row, if any."""
        self._asked += 1
        cursor = self._conn.cursor()
        cursor.execute(statement)
        return cursor.fetchone() if cursor.description else None

    def statements(self) -> float:
        """Return the number of statements that the server has seen from others; 0 if it does not count."""
        return float(self.ask(self._count)[0]) - self._asked if self._count else 0.0

    def count(self, shares: Sequence[str], status: str) -> int:
        """Return how many of the shares have the status. Asking the API instead would be part of what is measured."""
        ids = ', '.join(f"'{share}'" for share in shares)
        return self.ask(
            f"SELECT count(*) FROM share_instances WHERE status = '{status}' AND share_id IN ({ids})"  # noqa: S608 - ids
        )[0]


def used(process: psutil.Process) -> float:
    """Return the processor seconds of a process and its children. The system's own figures have steps of 10 ms."""
    # The kernel's number for the clock of another process: see clock_getcpuclockid(3).
    return sum(time.clock_gettime(~one.pid << 3 | 2) for one in product.family(process))


def _started(stack: contextlib.ExitStack, server: daemon.Daemon) -> Any:
    """Start a server, which runs until the end of the stack; return it.

    :raises daemon.Missing: it is not installed.
    """
    try:
        return stack.enter_context(server)
    except fixtures.MultipleExceptions as bad:
        raise bad.args[0][1] from None


def measured(measure: Callable[[report.Report], None]) -> Callable[[report.Report], None]:
    """Return the function; it notes that a server, or a peer, is not installed."""

    def noted(figures: report.Report) -> None:
        try:
            measure(figures)
        except daemon.Missing as missing:
            figures.note(f'Nothing was measured: {missing}')

    return noted


class Cloud:
    """The servers, which run until the end of the stack."""

    def __init__(self, stack: contextlib.ExitStack, kind: str = 'mariadb', driver: str = 'pymysql'):
        self.kind = kind
        self._driver = driver
        self._stack = stack
        server = KINDS[kind][0]
        self._database = _started(stack, server()) if server else None
        self._broker = _started(stack, broker.RabbitMQ())
        self.keystone = _started(stack, keystone.Keystone())
        self.processes = {
            type(one).__name__: psutil.Process(one.process.pid)
            for one in (self._database, self._broker)
            if one
        }

    def database(self, folder: str) -> str:
        """Return the URL of a new database, for the products: with the driver that they use for MariaDB."""
        server = self._database.url if self._database else None
        url = self._stack.enter_context(places.EmptyDatabase(Path(folder), server=server)).url
        return url.replace('+pymysql', f'+{self._driver}')

    def bus(self) -> str:
        """Return the URL of a new virtual host."""
        return self._stack.enter_context(places.EmptyBus(self._broker.url, self._broker.admin_url)).url

    def watch(self, url: str) -> Database:
        """Return the database at the URL."""
        return Database(self.kind, url)

    def token(self, *, admin: bool = False) -> str:
        """Return a new token of a member of a project, or of an administrator."""
        return self.keystone.connect(*(_ADMIN if admin else _DEMO)).session.get_token()


class Meter:
    """What a product and the servers have used."""

    def __init__(self, processes: dict[str, psutil.Process], database: Database):
        self.processes = processes
        self._database = database

    def read(self) -> dict[str, float]:
        """Return the statements, and the processor milliseconds of each process, so far."""
        return {'statements': self._database.statements()} | {
            name: used(process) * 1e3 for name, process in self.processes.items()
        }

    @contextlib.contextmanager
    def each(self, count: int) -> Iterator[dict[str, float]]:
        """Yield a dictionary that is filled at the end with the use of one of ``count`` things."""
        found: dict[str, float] = {}
        before = self.read()
        yield found
        found.update({name: (value - before[name]) / count for name, value in self.read().items()})
