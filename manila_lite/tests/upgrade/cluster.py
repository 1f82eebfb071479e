# SPDX-License-Identifier: Apache-2.0
"""Hosts with services of either release on one database and one broker, behind a load balancer."""

import contextlib
import dataclasses
import datetime
import http.client
import json
import os
import random
import re
import signal
import socket
import subprocess
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fixtures
import psutil
import sqlalchemy as sa
from oslo_utils import timeutils

from manila_lite.db import models
from manila_lite.tests import forks, hush, process, waiting
from manila_lite.tests.crash import truth
from manila_lite.tests.fixtures import DEFAULT_TYPE
from manila_lite.tests.services import places
from manila_lite.tests.upgrade.release_before import Tree

_CONFIG = """
[DEFAULT]
state_path = {state}
host = {host}
auth_strategy = noauth
default_share_type = default
enabled_share_backends = {backend}
osapi_share_listen = 127.0.0.1
osapi_share_listen_port = {port}
transport_url = {bus}
report_interval = 1
capability_interval = 2
[api]
migration_check_timeout = 200
[database]
connection = {database}
[operations]
lease = 15
[quota]
shares = 1000
gigabytes = 10000
snapshots = 1000
snapshot_gigabytes = 10000
[{backend}]
driver = dummy
dummy_pool_size_gb = 100000
dummy_knobs = *:delay=0.05
migration_driver_continue_update_interval = 0.1
"""
_PIN = '[upgrade_levels]\noperations = {}\n'
#: The version of the API that the clients speak: both releases know it.
_VERSION = '2.82'
_COMPLAINT = re.compile(r' (ERROR|CRITICAL) \S+ \[(?!instance)|is dropped|are dropped|have more fields')
#: A deadlock is no complaint: the work is done again.
_FINE = 'will be tried again'


@dataclasses.dataclass(frozen=True)
class Machine:
    """A machine: its ``host`` in the configuration, and its backend. Those of the same host take turns at one backend."""

    host: str
    backend: str


MACHINES = {'one': Machine('one', 'alpha'), 'left': Machine('pair', 'beta'), 'right': Machine('pair', 'beta')}
BACKENDS = ('alpha', 'beta')


@dataclasses.dataclass(frozen=True)
class Service:
    """A service on a machine."""

    role: str
    machine: str

    def __str__(self) -> str:
        return f'{self.role} on {self.machine}'


#: All services, in the order of an upgrade.
SERVICES = (
    *(Service(role, machine) for role in ('api', 'scheduler') for machine in ('one', 'left')),
    *(Service('share', machine) for machine in MACHINES),
)


def _port() -> int:
    """Return a free port that no connection gets while its owner is replaced: one below those for connections."""
    first = int(Path('/proc/sys/net/ipv4/ip_local_port_range').read_text().split()[0])
    while True:
        port = random.randrange(first // 2, first)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(('127.0.0.1', port))
            return port


class Balancer:
    """The load balancer: the ports of the API that get requests, and the requests under way at each."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._under_way: dict[int, int] = {}
        self._leaving: dict[int, int] = {}
        self._turn = 0

    def add(self, port: int) -> None:
        """Send requests to the port from now on."""
        with self._changed:
            self._under_way[port] = 0

    def remove(self, port: int) -> None:
        """Send no more requests to the port, and wait until those under way are answered."""
        with self._changed:
            self._leaving = {port: self._under_way.pop(port)}
            if not self._changed.wait_for(lambda: not self._leaving[port], waiting.LIMIT):
                raise AssertionError(f'{self._leaving[port]} requests are still under way at port {port}')

    @contextlib.contextmanager
    def port(self) -> Iterator[int]:
        """Choose a port for one request, each in turn."""
        with self._changed:
            self._turn += 1
            ports = sorted(self._under_way)
            port = ports[self._turn % len(ports)]
            self._under_way[port] += 1
        try:
            yield port
        finally:
            with self._changed:
                counts = self._under_way if port in self._under_way else self._leaving
                counts[port] -= 1
                self._changed.notify_all()


class Cluster(fixtures.Fixture):
    """The services of ``SERVICES``, at first those of the release before.

    ``database`` and ``bus``: URLs of the servers; by default those of the environment (``tests/services/places.py``).
    """

    def __init__(self, database: str | None = None, bus: str | None = None):
        super().__init__()
        self._database = database
        self._bus = bus

    def _setUp(self) -> None:
        self.before = self.useFixture(Tree())
        self.state = Path(self.useFixture(fixtures.TempDir()).path)
        self.url = self.useFixture(places.EmptyDatabase(self.state, server=self._database)).url
        bus = self._bus or self.useFixture(places.EmptyBus()).url
        self.engine = sa.create_engine(self.url, poolclass=sa.NullPool)
        self.addCleanup(self.engine.dispose)
        self.balancer = Balancer()
        self.ports = {name: _port() for name in MACHINES}
        self.running: dict[Service, forks.Process] = {}
        self._own = {
            name: _CONFIG.format(
                state=self.state,
                port=self.ports[name],
                database=self.url,
                bus=bus,
                host=machine.host,
                backend=machine.backend,
            )
            for name, machine in MACHINES.items()
        }
        self.configure()
        self.addCleanup(lambda: [hush.check(log) for log in self.state.glob('*.log')])
        self.addCleanup(self._end)

    # Configuration and commands

    def file(self, machine: str) -> Path:
        """Return the configuration file of the machine."""
        return self.state / f'{machine}.conf'

    def configure(self, more: str = '') -> None:
        """Write the configuration files of all machines, with ``more`` in each."""
        for name, text in self._own.items():
            draft = self.file(name).with_suffix('.new')
            draft.write_text(text + more)
            draft.replace(self.file(name))

    def pin(self) -> None:
        """Let processes that start from now on send the wake-ups of the release before."""
        self.configure(_PIN.format(self.before.wake_ups))

    def run(self, command: str, *words: str, old: bool = False) -> subprocess.CompletedProcess[str]:
        """Run ``manila-manage`` or ``manila-status`` on the first machine; return status and output."""
        return forks.run(
            f'manila_lite.cmd.{command}:main',
            f'--config-file={self.file("one")}',
            *words,
            tree=self.before.path if old else None,
        )

    def manage(self, *words: str, old: bool = False) -> str:
        """Run a command of ``manila-manage``, which must succeed; return its output."""
        done = self.run('manage', *words, old=old)
        if done.returncode:
            raise AssertionError(
                f'manila-manage {" ".join(words)}: {done.returncode}\n{done.stdout}{done.stderr}'
            )
        return done.stdout

    # Services

    def _launch(self, service: Service, *, old: bool) -> None:
        with self._log(service).open('ab') as log:
            self.running[service] = forks.start(
                f'manila_lite.cmd.{service.role}:main',
                f'--config-file={self.file(service.machine)}',
                stdout=log,
                stderr=log,
                new_session=True,
                tree=self.before.path if old else None,
            )

    def _log(self, service: Service) -> Path:
        return self.state / f'{service.role}.{service.machine}.log'

    def _stop(self, service: Service) -> None:
        if service.role == 'api':
            self.balancer.remove(self.ports[service.machine])
        self.running[service].terminate()
        if self.running.pop(service).wait(waiting.LIMIT):
            raise AssertionError(f'{service} did not end well\n{self.tail()}')

    def replace(self, service: Service, *, old: bool) -> None:
        """Stop a service, start it of the release before or of this one, and wait until it is ready. An API gets no requests
        meanwhile.
        """
        self._stop(service)
        self._launch(service, old=old)
        self._wait_until_ready(service)

    def reload(self) -> None:
        """Have all services read their files again, each API in turn and without requests meanwhile. Wait until they did."""
        for service in SERVICES:
            if service.role == 'api':
                self.balancer.remove(self.ports[service.machine])
                self._wait_for_new_children({service: self._reload(service)})
        self._wait_for_new_children(
            {service: self._reload(service) for service in SERVICES if service.role != 'api'}
        )

    def _reload(self, service: Service) -> set[psutil.Process]:
        """Send SIGHUP; return the children that will end."""
        children = set(process.children(self.running[service]))
        self.running[service].send_signal(signal.SIGHUP)
        return children

    def _wait_for_new_children(self, old: dict[Service, set[psutil.Process]]) -> None:
        for service, children in old.items():
            self.until(
                lambda service=service, children=children: (
                    not children & set(process.children(self.running[service]))
                ),
                f'{service} has new children',
            )
            self._wait_until_ready(service)

    def _wait_until_ready(self, service: Service) -> None:
        # A process that has no children yet does not listen to signals either.
        self.until(lambda: process.children(self.running[service]), f'{service} has children')
        if service.role == 'api':
            port = self.ports[service.machine]
            self.until(
                lambda: self._send(port, 'GET', '/healthcheck', prefix='')[0] == 200, f'{service} answers'
            )
            self.until(
                lambda: self._send(port, 'GET', '/readiness', prefix='')[0] != 503, f'{service} is ready'
            )
            self.balancer.add(port)
            return
        machine, seen = MACHINES[service.machine], timeutils.utcnow()
        host = f'{machine.host}@{machine.backend}' if service.role == 'share' else machine.host
        self.until(lambda: self._is_up(f'manila-{service.role}', host, seen), f'{service} is up')

    def _is_up(self, binary: str, host: str, seen: datetime.datetime) -> bool:
        """Say whether the service has shown signs of life since a moment. The columns are those that each release has."""
        rows = models.services.c
        query = sa.select(rows.heartbeat_at, rows.stopped).where(rows.host == host, rows.binary == binary)
        with self.engine.connect() as conn:
            row = conn.execute(query).first()
        return bool(row and not row.stopped and row.heartbeat_at > seen)

    def _end(self) -> None:
        for running in self.running.values():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGKILL)
            running.wait()

    # Clients

    def call(self, method: str, path: str, body: Any = None, project: str = 'admin') -> tuple[int, Any]:
        """Send a request through the load balancer; return (status, document).

        :raises OSError: no answer came.
        """
        with self.balancer.port() as port:
            return self._send(port, method, path, body, project)

    def _send(
        self, port: int, method: str, path: str, body: Any = None, project: str = 'admin', prefix: str = '/v2'
    ) -> tuple[int, Any]:
        request = urllib.request.Request(
            f'http://127.0.0.1:{port}{prefix}{path}',
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={
                'X-Auth-Token': f'u:{project}:admin,member,reader:{hush.MARK}token',
                'X-OpenStack-Manila-API-Version': _VERSION,
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

    def until(self, ready: Callable[[], Any], what: str) -> Any:
        """Wait until ``ready`` returns something true; return it.

        :raises AssertionError: it did not in time, or a service has ended by itself.
        """

        def look() -> Any:
            if gone := [
                str(service) for service, running in self.running.items() if running.poll() is not None
            ]:
                raise AssertionError(f'ended: {gone}\n{self.tail()}')
            return ready()

        return waiting.until(
            look, lambda: f'{what}\n{self.tail()}', pause=0.05, ignoring=(OSError, sa.exc.OperationalError)
        )

    def begin(self) -> None:
        """Set up all of the release before: schema, services, and a share type."""
        self.manage('db', 'sync', old=True)
        for service in SERVICES:
            self._launch(service, old=True)
        for service in SERVICES:
            self._wait_until_ready(service)
        self.ok('POST', '/types', {'share_type': {'name': 'default', 'extra_specs': DEFAULT_TYPE}})
        self.until(lambda: len(self.ok('GET', '/scheduler-stats/pools')['pools']) == len(BACKENDS), 'pools')

    # State

    def releases(self) -> dict[str, str | None]:
        """Return the releases of the schedulers and share managers, as an operator sees them, by binary and host."""
        rows = json.loads(self.manage('service', 'list', '--format', 'json'))
        return {f'{row["binary"]} {row["host"]}': row['release'] for row in rows}

    def checked(self, name: str) -> tuple[int, str]:
        """Return the result of one check of ``manila-status upgrade check``, and its details."""
        checks = json.loads(self.run('status', 'upgrade', 'check', '--json').stdout)['checks']
        return next((check['result'], check['details'] or '') for check in checks if check['check'] == name)

    def problems(self) -> Iterator[str]:
        """Wait until all is quiet; yield what is stuck, in error, lost, an orphan or counted wrong."""
        left: list[str] = []

        def quiet() -> bool:
            left[:] = [what for rows in truth.read(self.engine).values() for what in rows.unsettled()]
            return not left

        with contextlib.suppress(waiting.Late):
            waiting.until(quiet, 'quiet', pause=0.3)
        yield from (f'stuck: {what}' for what in left)
        projects = truth.read(self.engine)
        backends = truth.Backends(self.state, BACKENDS)
        yield from (what for _, what in backends.orphans(projects))
        for project, rows in projects.items():
            yield from backends.differences(rows)
            if project:
                yield from truth.quota(self, project, rows)
            for resource_type in ('share', 'instance', 'snapshot', 'rule'):
                yield from (
                    f'{resource_type} {resource_id} is in {state}'
                    for resource_id, state in rows.of(resource_type).items()
                    if state in truth.FAILURES
                )
            yield from (
                f'operation {op.kind} of {op.resource_id} is {op.state}: {op.error}'
                for op in rows.operations
                if op.state == 'failed' and op.error != 'superseded'
            )
        for finding in json.loads(self.run('manage', 'doctor', '--format', 'json').stdout):
            if finding['wrong']:
                yield f'doctor: {finding}'

    def complaints(self) -> list[str]:
        """Return the lines of all logs that are errors, or about messages that were not understood."""
        return [
            f'{log.name}: {line}'
            for log in sorted(self.state.glob('*.log'))
            for line in log.read_text(errors='replace').splitlines()
            if _COMPLAINT.search(line) and _FINE not in line
        ]

    def tail(self) -> str:
        """Return the ends of all logs."""
        return '\n'.join(
            f'{log.name}: {log.read_text(errors="replace")[-2500:]}'
            for log in sorted(self.state.glob('*.log'))
        )
