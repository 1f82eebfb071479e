# SPDX-License-Identifier: Apache-2.0
"""API, scheduler and share managers in processes, on private servers, for tests that kill and restart them."""

import contextlib
import http.client
import json
import os
import signal
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import fixtures
import sqlalchemy as sa

from manila_lite.tests import forks, hush, process, waiting
from manila_lite.tests.crash import files
from manila_lite.tests.crash.orders import VARIABLE, Orders
from manila_lite.tests.fixtures import DEFAULT_TYPE
from manila_lite.tests.services import broker, daemon, databases, places

_CONFIG = """
[DEFAULT]
state_path = {state}
host = test
auth_strategy = noauth
default_share_type = default
driver_updatable_subnet_metadata = quality
enabled_share_backends = {backends}
enabled_backup_types = nightly
osapi_share_listen = 127.0.0.1
osapi_share_listen_port = {port}
osapi_share_workers = {api_workers}
transport_url = {bus}
report_interval = 1
capability_interval = 2
log_file =
data_node_access_ips = 192.0.2.33
data_access_wait_access_rules_timeout = 3600
data_node_local_exports = {files}
{more}
[api]
threads = {workers}
subnet_check_timeout = 200
migration_check_timeout = 200
[console]
enabled = true
[database]
connection = {database}
max_retries = -1
retry_interval = 1
max_overflow = {workers}
[operations]
workers = {workers}
fast_workers = {workers}
reserved_workers = 0
poll_interval = 0.3
retry_delay = 0.1
lease = {lease}
[scheduler]
schedule_interval = 0.3
[network]
plugin = standalone
[standalone_network]
file = {state}/networks.yaml
[quota]
share_networks = -1
shares = -1
gigabytes = -1
snapshots = -1
snapshot_gigabytes = -1
[nightly]
backup_continue_update_interval = 0.1
"""
_NETWORKS = """
networks:
- id: net
  network_type: flat
  subnets:
  - {id: four, cidr: 10.16.0.0/16}
  - {id: six, cidr: 'fd00::/64'}
"""
_BACKEND = (
    '[{name}]\ndriver = dummy\ndummy_pool_size_gb = {size}\ndummy_knobs = {knobs}\n'
    'migration_driver_continue_update_interval = 0.1\ndummy_replication_domain = matrix\n'
)
_SERVING = (
    'driver_handles_share_servers = true\nserver_migration_driver_continue_update_interval = 0.1\n'
    'dummy_writable_migration = false\n'
)
ROLES = ('api', 'scheduler', 'share')


#: Database servers by name, and queries for all connections to the present database but ours.
DATABASES: dict[str, Any] = {'postgresql': databases.PostgreSQL, 'mariadb': databases.MariaDB}
_CONNECTIONS = {
    'postgresql': 'SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
    'mysql': 'SELECT id FROM information_schema.processlist WHERE db = database() AND id <> connection_id()',
}
_CUT = {'postgresql': 'SELECT pg_terminate_backend({:d})', 'mysql': 'KILL CONNECTION {:d}'}


class Servers(fixtures.Fixture):
    """A database server and RabbitMQ of our own; where they are not installed, SQLite and a broker that is away."""

    database: Any = None
    broker: Any = None

    def __init__(self, database: str = 'postgresql'):
        super().__init__()
        self._kind = DATABASES[database]

    def _setUp(self) -> None:
        servers = (self._kind(), broker.RabbitMQ())
        try:
            for server in servers:
                server.need()
        except daemon.Missing:
            return
        self.database, self.broker = map(self.useFixture, servers)

    @property
    def bus(self) -> str:
        """Return the transport URL."""
        return self.broker.url if self.broker else f'rabbit://nobody:nothing@127.0.0.1:{process.free_port()}/'

    @property
    def server(self) -> str | None:
        """Return the URL of the database server, or None for SQLite."""
        return self.database.url if self.database else None


class Deployment(fixtures.Fixture):
    """Each of ``roles`` is a running command (``share1`` and ``share2`` run the same); with ``victims``, commands obey
    :class:`Orders`. A child that was killed is started again by its command, a command by ``start``.
    """

    BACKENDS = ('alpha', 'beta', 'gamma', 'delta', 'epsilon', 'zeta')
    #: Backends that make share servers, and migrate them to each other.
    SERVING = ('gamma', 'delta')
    #: Backends that are evacuated to each other. They are small, so that only shares that ask for them go there.
    EVACUATED = ('epsilon', 'zeta')

    def __init__(
        self,
        servers: Servers,
        *,
        roles: tuple[str, ...] = ROLES,
        victims: bool = True,
        api_workers: int = 1,
        workers: int = 150,
        lease: float = 60,
        knobs: str = '',
        operations: Iterable[str] = (),
        more: str = '',
    ):
        super().__init__()
        self.servers = servers
        #: Names of the operations to which the matrix is confined, if it is.
        self.operations = frozenset(operations)
        self.roles = roles
        self._victims = victims
        self._knobs = knobs
        self._more = more
        self._settings = {'api_workers': api_workers, 'workers': workers, 'lease': lease}
        self.running: dict[str, forks.Process] = {}
        self._changes = 0

    def _setUp(self) -> None:
        self.state = Path(self.useFixture(fixtures.TempDir()).path)
        self.addCleanup(files.unmount_below, self.state)
        self.orders = Orders(self.state / 'orders')
        self.orders.prepare()
        self.url = self.useFixture(places.EmptyDatabase(self.state, server=self.servers.server)).url
        # The test cuts all connections, these too.
        self.engine = sa.create_engine(self.url, pool_pre_ping=True)
        self.port = process.free_port()
        text = _CONFIG.format(
            state=self.state,
            port=self.port,
            database=self.url,
            bus=self.servers.bus,
            files=files.local_exports(self.state),
            more=self._more,
            backends=','.join(self.BACKENDS),
            **self._settings,
        )
        (self.state / 'c.conf').write_text(
            text
            + ''.join(
                _BACKEND.format(name=name, knobs=self._knobs, size=1000 if name in self.EVACUATED else 100000)
                + (_SERVING if name in self.SERVING else '')
                for name in self.BACKENDS
            )
        )
        (self.state / 'networks.yaml').write_text(_NETWORKS)
        self.addCleanup(lambda: [hush.check(log) for log in self.state.glob('*.log')])
        self.addCleanup(self.end)
        self._run('manage', 'db', 'sync')
        for role in self.roles:
            self.start(role)
        self.eventually(
            lambda: len(self.call('GET', '/scheduler-stats/pools')[1]['pools']) == len(self.BACKENDS), 'pools'
        )
        for name, more in (('default', {}), ('served', {'driver_handles_share_servers': 'True'})):
            self.ok('POST', '/types', {'share_type': {'name': name, 'extra_specs': {**DEFAULT_TYPE, **more}}})

    def _run(self, *words: str) -> None:
        done = forks.run(f'manila_lite.cmd.{words[0]}:main', f'--config-file={self.state}/c.conf', *words[1:])
        if done.returncode:
            raise AssertionError(done.stdout + done.stderr)

    def change_address(self, backend: str) -> str:
        """Write another export address into the section of the backend. Return the address."""
        self._changes += 1
        address = files.ADDRESSES[self._changes]
        path = self.state / 'c.conf'
        begin, mark, rest = path.read_text().partition(f'[{backend}]\n')
        own, more, others = rest.partition('\n[')
        lines = [line for line in own.splitlines() if not line.startswith('dummy_export_ips')]
        draft = path.with_suffix('.new')
        draft.write_text(
            begin + mark + '\n'.join((*lines, f'dummy_export_ips = {address}', '')) + more + others
        )
        draft.replace(path)
        return address

    # Processes

    def start(self, role: str) -> None:
        """Start the command of the role."""
        command = role.rstrip('0123456789')
        words = (
            ['manila_lite.tests.crash.victim:main', command]
            if self._victims
            else [f'manila_lite.cmd.{command}:main']
        )
        with (self.state / f'{role}.log').open('ab') as log:
            self.running[role] = forks.start(
                *words,
                f'--config-file={self.state}/c.conf',
                stdout=log,
                stderr=log,
                new_session=True,
                env=os.environ | {VARIABLE: str(self.orders.root)},
            )

    def children(self, role: str) -> list[int]:
        """Return the pids of the processes that do the role's work."""
        tasks = Path(f'/proc/{self.running[role].pid}/task').glob(
            '*/children'
        )  # a thread of the launcher forks
        try:
            return [int(pid) for task in tasks for pid in task.read_text().split()]
        except (FileNotFoundError, ProcessLookupError):
            return []

    def kill(self, pid: int) -> None:
        """Kill the process, a child of one of ours."""
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            return
        self.eventually(lambda: not _lives(pid), f'the end of {pid}')

    @contextlib.contextmanager
    def suspended(self, role: str) -> Iterator[None]:
        """Stop the processes that do the role's work inside the block."""
        stopped = self.children(role)
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in stopped:
                os.kill(pid, signal.SIGCONT)

    def kill_all_of(self, role: str) -> None:
        """Kill the command and all its children."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.running[role].pid, signal.SIGKILL)
        self.running[role].kill()  # one that has just been started has no group of its own yet
        self.running[role].wait()

    def cut(self) -> int:
        """Let the server cut all connections to the database; return their number."""
        kind = self.engine.dialect.name
        with self.engine.connect() as conn:
            victims = conn.exec_driver_sql(_CONNECTIONS[kind]).scalars().all()
            for connection_id in victims:
                with contextlib.suppress(sa.exc.DBAPIError):  # it closed by itself
                    conn.exec_driver_sql(_CUT[kind].format(connection_id))
        return len(victims)

    def end(self) -> None:
        """Kill all processes."""
        for role in list(self.running):
            self.kill_all_of(role)
        self.engine.dispose()

    # Clients

    def login(self, project: str) -> dict[str, str]:
        """Return the headers that log in to a project."""
        return {'X-Auth-Token': f'u:{project}:admin,member,reader:{hush.MARK}token'}

    def call(
        self, method: str, path: str, body: Any = None, project: str = 'admin', prefix: str = '/v2'
    ) -> tuple[int, Any]:
        """Send a request; return (status, document).

        :raises OSError: no answer came.
        """
        request = urllib.request.Request(
            f'http://127.0.0.1:{self.port}{prefix}{path}',
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={
                **self.login(project),
                'X-OpenStack-Manila-API-Version': '2.99',
                'X-OpenStack-Manila-API-Experimental': 'true',
                'Content-Type': 'application/json',
            },
        )
        try:
            with urllib.request.urlopen(request, timeout=waiting.LIMIT) as answer:
                status, text = answer.status, answer.read()
        except urllib.error.HTTPError as refused:
            status, text = refused.code, refused.read()
        except http.client.HTTPException as broken:
            raise ConnectionError(f'{method} {path}: {broken!r}') from broken
        return status, json.loads(text) if text[:1] in (b'{', b'[') else None

    def ok(self, method: str, path: str, body: Any = None, project: str = 'admin') -> Any:
        """Send a request that must succeed; return the document."""
        status, document = self.call(method, path, body, project)
        if status >= 400:
            raise AssertionError(f'{method} {path}: {status} {document}\n{self.tail()}')
        return document

    def eventually(self, ready: Callable[[], Any], what: str) -> Any:
        """Wait until ``ready`` returns something true; return it.

        :raises AssertionError: it did not in time.
        """

        def found() -> Any:
            try:
                if result := ready():
                    return result
            except (OSError, TypeError, sa.exc.OperationalError):
                pass  # the service is just starting, or was just killed
            self.lives()
            return None

        return waiting.until(found, lambda: f'{what}\n{self.tail()}', pause=0.05)

    def lives(self) -> None:
        """Check that every command runs.

        :raises AssertionError: one has ended.
        """
        if gone := [role for role, master in self.running.items() if master.poll() is not None]:
            raise AssertionError(f'ended: {gone}\n{self.tail()}')

    def said_of(self, project: str) -> str:
        """Return the lines of all logs that name the project."""
        lines = [
            f'{log.name}: {line}'
            for log in sorted(self.state.glob('*.log'))
            for line in log.read_text(errors='replace').splitlines()
            if project in line
        ]
        return '\n'.join(lines[-40:])

    def said_by(self, role: str) -> str:
        """Return the logs of all commands of the role."""
        return ''.join(log.read_text(errors='replace') for log in self.state.glob(f'{role}*.log'))

    def tail(self) -> str:
        """Return the ends of all logs."""
        return '\n'.join(
            f'{log.name}: {log.read_text(errors="replace")[-2500:]}'
            for log in sorted(self.state.glob('*.log'))
        )


def _lives(pid: int) -> bool:
    try:
        return Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0] not in 'ZX'
    except FileNotFoundError:
        return False
