# SPDX-License-Identifier: Apache-2.0
"""The product in processes, and clients for it: its processor time is separate from the benchmark's."""

import contextlib
import http.client
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from manila_lite.tests.process import free_port

_CONFIG = """
[DEFAULT]
state_path = {state}
host = bench
default_share_type = default
enabled_share_backends = alpha
osapi_share_listen = 127.0.0.1
osapi_share_listen_port = {port}
transport_url = {bus}
log_file = {state}/log
{auth}
[database]
connection = {database}
[alpha]
driver = dummy
dummy_pool_size_gb = 1000000
{backend}
[quota]
shares = -1
gigabytes = -1
"""

#: For callers that start processes.
PIPE = subprocess.PIPE
#: Units per second of the system's processor times.
TICKS = os.sysconf('SC_CLK_TCK')

_TYPE = {'share_type': {'name': 'default', 'extra_specs': {'driver_handles_share_servers': 'False'}}}
_HEADERS = {'X-OpenStack-Manila-API-Version': '2.86', 'Content-Type': 'application/json'}
SHARE = {'share': {'size': 1, 'share_proto': 'NFS', 'name': 'bench', 'metadata': {'a': 'b'}}}


class Client:
    """A connection of a project, which stays open. ``token``: by default one for ``auth_strategy = noauth``."""

    def __init__(self, port: int, project: str = 'p', token: str | None = None):
        self._connection = http.client.HTTPConnection('127.0.0.1', port, timeout=120)
        self._headers = _HEADERS | {'X-Auth-Token': token or f'u:{project}:admin,member,reader'}

    def ask(self, method: str, path: str, body: dict | None = None) -> dict:
        """Send a request that must succeed; return the answer."""
        self._connection.request(
            method, f'/v2{path}', json.dumps(body) if body is not None else None, self._headers
        )
        answer = self._connection.getresponse()
        text = answer.read()
        if answer.status >= 400:
            raise RuntimeError(f'{method} {path}: {answer.status} {text[:500]!r}')
        return json.loads(text) if text else {}

    def create(self) -> str:
        """Ask for a share; return its id."""
        return self.ask('POST', '/shares', SHARE)['share']['id']

    def wait(self, path: str, key: str, until: str, field: str = 'status', pause: float = 0.002) -> None:
        """Poll until the field has the value."""
        end = time.monotonic() + 120
        while (seen := self.ask('GET', path)[key][field]) != until:
            if time.monotonic() > end or 'error' in seen:
                raise RuntimeError(f'{path} is {seen}, not {until}')
            time.sleep(pause)


class Processes:
    """A directory, and processes that keep their files in it."""

    def __init__(self, folder: str):
        self.state = Path(folder)
        self.port = free_port()
        self._started: list[subprocess.Popen] = []

    def run(self, *words: str, **env: str) -> psutil.Process:
        """Start a command. It is asked to end when this process dies, for instance because somebody lost patience."""
        with (self.state / 'output').open('ab') as output:
            # SIGINT ends uwsgi, too, which begins anew at a SIGTERM.
            started = subprocess.Popen(
                ['setpriv', '--pdeathsig', 'INT', '--', *words],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                env=os.environ | env,
            )
        self._started.append(started)
        return psutil.Process(started.pid)

    def client(self) -> Client:
        """Return a client with all rights."""
        return Client(self.port)

    def answers(self) -> Client:
        """Wait until the API answers; return a client, which has made the default share type."""
        end = time.monotonic() + 120
        while True:
            client = self.client()
            with contextlib.suppress(OSError):
                if not client.ask('GET', '/types')['share_types']:
                    client.ask('POST', '/types', _TYPE)
                return client
            if time.monotonic() > end or any(one.poll() is not None for one in self._started):
                raise RuntimeError((self.state / 'output').read_text()[-2000:])
            time.sleep(0.05)

    def wait_for_pool(self, client: Client) -> None:
        """Wait until the backend has reported its pools."""
        end = time.monotonic() + 120
        while not client.ask('GET', '/scheduler-stats/pools')['pools']:
            if time.monotonic() > end:
                raise RuntimeError('no pool')
            time.sleep(0.05)

    def end(self) -> None:
        """End all processes and their children."""
        for started in self._started:
            family = [*psutil.Process(started.pid).children(recursive=True)] if started.poll() is None else []
            started.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                started.wait(timeout=20)
            for one in family:
                with contextlib.suppress(psutil.NoSuchProcess):
                    one.kill()
            if started.poll() is None:
                started.kill()
                started.wait()
        self._started = []


class Product(Processes):
    """The product with a configuration. ``auth``: settings at the end of ``DEFAULT``, which may go on with other groups.
    ``backend``: more settings of the backend.
    """

    def __init__(
        self,
        folder: str,
        database: str | None = None,
        bus: str = 'inproc://',
        auth: str = 'auth_strategy = noauth',
        backend: str = '',
    ):
        super().__init__(folder)
        self.config = self.state / 'manila_lite.conf'
        self.config.write_text(
            _CONFIG.format(
                state=folder,
                port=self.port,
                bus=bus,
                auth=auth,
                backend=backend,
                database=database or f'sqlite:///{folder}/manila_lite.sqlite',
            )
        )

    def sync(self) -> None:
        """Make the tables of the database."""
        subprocess.run(
            [sys.executable, '-m', 'manila_lite.cmd.manage', f'--config-file={self.config}', 'db', 'sync'],
            check=True,
            capture_output=True,
        )

    def start(self, name: str) -> psutil.Process:
        """Start ``cmd/NAME.py``."""
        return self.run(sys.executable, '-m', f'manila_lite.cmd.{name}', f'--config-file={self.config}')

    def has_service(self, binary: str) -> bool:
        """Say whether a service of this kind has sent a heartbeat."""
        with contextlib.closing(sqlite3.connect(self.state / 'manila_lite.sqlite')) as conn:
            return conn.execute('SELECT count(*) FROM services WHERE binary = ?', (binary,)).fetchone()[0] > 0

    def knobs(self, text: str) -> None:
        """Write the knobs file of the backend."""
        (self.state / 'alpha').mkdir(exist_ok=True)
        (self.state / 'alpha' / 'knobs').write_text(f'{text}\n')


@contextlib.contextmanager
def product(database: str | None = None, bus: str = 'inproc://') -> Iterator[Product]:
    """Yield a product in a new directory; remove it afterwards."""
    with tempfile.TemporaryDirectory(prefix='manila-lite-bench-') as folder:
        made = Product(folder, database, bus)
        try:
            yield made
        finally:
            made.end()


def family(process: psutil.Process) -> list[psutil.Process]:
    """Return a process with its children."""
    return [process, *process.children(recursive=True)]


def processor_time(process: psutil.Process) -> float:
    """Return the seconds that a process and its children have used so far."""
    return sum(sum(one.cpu_times()[:2]) for one in family(process))
