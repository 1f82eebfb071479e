# SPDX-License-Identifier: Apache-2.0
"""Products side by side, each as API under uwsgi with two processes, scheduler, and share manager with a dummy driver.

Around them are servers on the loopback: a database, RabbitMQ, Keystone; with counts of their own work.
"""

import contextlib
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import fixtures
import product
import psutil
import report
import sqlalchemy as sa

from manila_lite.tests.services import broker, daemon, databases, environments, keystone, places

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


#: By name: the server, the statement that returns the number of statements so far, and one that goes before it.
KINDS: dict[str, tuple[type[daemon.Daemon] | None, str, str]] = {
    'mariadb': (
        MariaDB,
        "SELECT variable_value FROM information_schema.global_status WHERE variable_name = 'Questions'",
        '',
    ),
    'postgresql': (
        PostgreSQL,
        'SELECT sum(calls) FROM pg_stat_statements',
        'CREATE EXTENSION IF NOT EXISTS pg_stat_statements',
    ),
    'sqlite': (None, '', ''),
}


class Database:
    """A database of one product, seen from beside: its server's count of statements, and the rows of shares."""

    def __init__(self, kind: str, url: str):
        _, self._count, first = KINDS[kind]
        self._conn = sa.create_engine(url, isolation_level='AUTOCOMMIT').connect()
        self._asked = 0
        if first:
            self._conn.exec_driver_sql(first)

    def ask(self, statement: str) -> Any:
        """Return the first value."""
        self._asked += 1
        return self._conn.exec_driver_sql(statement).scalar()

    def statements(self) -> float:
        """Return the number of statements that the server has seen from others; 0 if it does not count."""
        return float(self.ask(self._count)) - self._asked if self._count else 0.0

    def count(self, shares: Sequence[str], status: str) -> int:
        """Return how many of the shares have the status. Asking the API instead would be part of what is measured."""
        ids = ', '.join(f"'{share}'" for share in shares)
        return self.ask(
            f"SELECT count(*) FROM share_instances WHERE status = '{status}' AND share_id IN ({ids})"  # noqa: S608 - ids
        )


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
        self.stack = stack
        server = KINDS[kind][0]
        self._database = _started(stack, server()) if server else None
        self._broker = _started(stack, broker.RabbitMQ())
        self.keystone = _started(stack, keystone.Keystone())
        self.processes = {
            type(one).__name__: psutil.Process(one.process.pid)
            for one in (self._database, self._broker)
            if one
        }

    def database(self) -> str:
        """Return the URL of a new database, for the products: with the driver that they use for MariaDB."""
        server = self._database.url if self._database else None
        folder = Path(self.stack.enter_context(fixtures.TempDir()).path)
        url = self.stack.enter_context(places.EmptyDatabase(folder, server=server)).url
        return url.replace('+pymysql', f'+{self._driver}')

    def bus(self) -> str:
        """Return the URL of a new virtual host."""
        return self.stack.enter_context(places.EmptyBus(self._broker.url, self._broker.admin_url)).url

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


WORKERS = 2
#: The processes of a product.
PARTS = ('API', 'scheduler', 'manager')
_SAMPLE = Path(__file__).parents[2] / 'etc/manila_lite/uwsgi/manila-api.ini'
#: The same as the command "uwsgi" of pyuwsgi, but independent of PATH.
_UWSGI = ('-c', 'import pyuwsgi; pyuwsgi.run()')


class Ours(product.Product):
    """manila_lite, with the sample of its configuration of uwsgi."""

    def __init__(self, around: Cloud, **more: str):
        self.database = around.database()
        super().__init__(self.database, around.bus(), around.keystone.middleware, **more)

    def begin(self) -> dict[str, psutil.Process]:
        """Start all processes; return them by part."""
        text = (
            _SAMPLE.read_text()
            .replace(':8786', f':{self.port}')
            .replace('processes = 4', f'processes = {WORKERS}')
        )
        ini = self.state / 'uwsgi.ini'
        ini.write_text(
            re.sub('^env = MANILA_LITE_CONFIG_FILES=.*', 'disable-logging = true', text, flags=re.MULTILINE)
        )
        config = {'HOME': str(self.state), 'MANILA_LITE_CONFIG_FILES': str(self.config)}
        return {
            'API': self.program(sys.executable, *_UWSGI, f'--ini={ini}', **config),
            'scheduler': self.start('scheduler'),
            'manager': self.start('share'),
        }


_MANILA = """
[DEFAULT]
state_path = {state}
host = bench
default_share_type = default
enabled_share_backends = alpha
enabled_share_protocols = NFS
log_file = {state}/log
[oslo_concurrency]
lock_path = {state}/locks
[quota]
shares = -1
gigabytes = -1
[alpha]
share_backend_name = alpha
share_driver = manila.tests.share.drivers.dummy.DummyDriver
driver_handles_share_servers = False
# Without these two its dummy driver waits some seconds in each call.
dummy_driver_default_driver_method_delay = 0
dummy_driver_driver_methods_delays = create_share:0
[DEFAULT]
{extra}
"""
#: As OpenStack's installer sets uwsgi up for Manila.
_INI = """
[uwsgi]
http-socket = 127.0.0.1:{port}
module = manila.wsgi.api:application
master = true
processes = {workers}
threads = 1
enable-threads = true
lazy-apps = true
need-app = true
thunder-lock = true
buffer-size = 65535
disable-logging = true
"""


class Manila(product.Programs):
    """Manila as published, from an environment of its own (tools/peer-requirements.txt): run, and never read."""

    CONFIG = _MANILA

    def __init__(self, around: Cloud):
        self._bin = environments.find('peer', 'bin/manila-manage') / 'bin'
        self.database = around.database()
        super().__init__(
            f'transport_url = {around.bus()}\n'
            f'api_paste_config = {self._bin.parent}/etc/manila/api-paste.ini\n'
            f'rootwrap_config = {self._bin.parent}/etc/manila/rootwrap.conf\n'
            f'{around.keystone.middleware}\n[database]\nconnection = {self.database}\n'
        )

    def manage(self, *words: str) -> str:
        """Run Manila's own command."""
        done = subprocess.run(
            [self._bin / 'manila-manage', f'--config-file={self.config}', *words],
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout

    def begin(self) -> dict[str, psutil.Process]:
        """Start all processes; return them by part."""
        config, ini = f'--config-file={self.config}', self.state / 'uwsgi.ini'
        home = self.state / '.manila'  # one of the places where it looks
        home.mkdir()
        (home / 'manila.conf').symlink_to(self.config)
        ini.write_text(_INI.format(port=self.port, workers=WORKERS))
        return {
            'API': self.program(self._bin / 'python', *_UWSGI, f'--ini={ini}', HOME=str(self.state)),
            'scheduler': self.program(self._bin / 'manila-scheduler', config),
            'manager': self.program(self._bin / 'manila-share', config),
        }


class Side:
    """A product that is started, with clients of it, and a meter."""

    def __init__(self, around: Cloud, made: Ours | Manila):
        member, made.token = around.token(), around.token(admin=True)
        self.database = Database(around.kind, made.database)
        self.meter = Meter(made.begin() | around.processes, self.database)
        made.ready()
        self.clients = [product.Client(made.port, member, closing=True) for _ in range(8)]
        self.client = self.clients[0]
        self.admin = product.Client(made.port, made.token, closing=True)
        #: Those that phases have made.
        self.shares: list[str] = []
