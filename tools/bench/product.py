# SPDX-License-Identifier: Apache-2.0
"""The product in processes, and clients for it: its processor time is separate from the benchmark's.

The clients cost little, since they share the cores with what they measure: they have no parser.
"""

import collections
import concurrent.futures
import contextlib
import json
import os
import socket
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import psutil

from manila_lite.tests import process

_CONFIG = """
[DEFAULT]
state_path = {state}
host = bench
default_share_type = default
enabled_share_backends = alpha
osapi_share_listen = 127.0.0.1
osapi_share_listen_port = {port}
log_file = {state}/log
[quota]
shares = -1
gigabytes = -1
{extra}
"""
BACKEND = 'driver = dummy\ndummy_pool_size_gb = 1000000\n'
#: Units per second of the system's processor times.
TICKS = os.sysconf('SC_CLK_TCK')
_TYPE = {'share_type': {'name': 'default', 'extra_specs': {'driver_handles_share_servers': 'False'}}}
_VERSION = 'X-OpenStack-Manila-API-Version: 2.86\r\nContent-Type: application/json'
_END = b'\r\n\r\n'
SHARE = {'share': {'size': 1, 'share_proto': 'NFS', 'name': 'bench', 'metadata': {'a': 'b'}}}


class Client:
    """A client with a token. ``closing``: the connection ends with each answer, as it does with uwsgi."""

    def __init__(self, port: int, token: str, *, closing: bool = False):
        self._address = ('127.0.0.1', port)
        self._closing = closing
        self._lines = f'Host: 127.0.0.1:{port}\r\nX-Auth-Token: {token}\r\n{_VERSION}\r\n'
        self._lines += 'Connection: close\r\n' if closing else ''
        self._wire: socket.socket | None = None

    def fetch(self, method: str, path: str, body: dict | None = None) -> bytes:
        """Send a request that must succeed; return the body of the answer as it is."""
        sent = json.dumps(body).encode() if body is not None else b''
        head = f'{method} /v2{path} HTTP/1.1\r\n{self._lines}Content-Length: {len(sent)}\r\n\r\n'
        if self._wire is None:
            self._wire = socket.create_connection(self._address, timeout=120)
        self._wire.sendall(head.encode() + sent)
        status, text = _answer(self._wire)
        if self._closing:
            self._wire.close()
            self._wire = None
        if status >= 400:
            raise RuntimeError(f'{method} {path}: {status} {text[:500]!r}')
        return text

    def ask(self, method: str, path: str, body: dict | None = None) -> dict:
        """Send a request that must succeed; return the answer."""
        text = self.fetch(method, path, body)
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


def _answer(wire: socket.socket) -> tuple[int, bytes]:
    """Return the status and the body: up to its length, so that the server's work after the answer is not waited for."""
    got = b''
    while _END not in got:
        got += _more(wire)
    head, _, text = got.partition(_END)
    lines = dict(line.lower().split(b':', 1) for line in head.split(b'\r\n')[1:])
    parts, missing = [text], int(lines.get(b'content-length', 0)) - len(text)
    while missing > 0:
        parts.append(_more(wire))
        missing -= len(parts[-1])
    return int(head.split(b' ', 2)[1]), b''.join(parts)


def _more(wire: socket.socket) -> bytes:
    if got := wire.recv(1 << 18):
        return got
    raise ConnectionError('the connection ended before the answer')


Job = Callable[[Any], Any]


def timed(client: Client, jobs: Iterable[Job]) -> tuple[list[float], list[Any]]:
    """Do one job after the other; return the milliseconds and the result of each."""
    times, results = [], []
    for job in jobs:
        began = time.perf_counter()
        results.append(job(client))
        times.append((time.perf_counter() - began) * 1e3)
    return times, results


def crowd(clients: Sequence[Client], jobs: Iterable[Job]) -> tuple[float, list[float], list[Any]]:
    """Have the clients do the jobs at once; return the seconds for all, and the milliseconds and the result of each."""
    waiting = collections.deque(jobs)

    def left() -> Iterable[Job]:
        with contextlib.suppress(IndexError):  # another client was quicker
            while True:
                yield waiting.popleft()

    with concurrent.futures.ThreadPoolExecutor(len(clients)) as threads:
        began = time.perf_counter()
        done = list(threads.map(lambda client: timed(client, left()), clients))
        seconds = time.perf_counter() - began
    return (
        seconds,
        [one for times, _ in done for one in times],
        [one for _, results in done for one in results],
    )


class Repeated:
    """A function that is called again and again in a thread until ``end``; ``done`` counts."""

    def __init__(self, act: Callable[[], None], pause: float = 0.0):
        self._enough = threading.Event()
        self.done = 0
        self._calls = concurrent.futures.ThreadPoolExecutor(1).submit(self._repeat, act, pause)

    def _repeat(self, act: Callable[[], None], pause: float) -> None:
        while not self._enough.wait(pause):
            act()
            self.done += 1

    def end(self) -> None:
        """Stop the calls; raise the error of the function, if it failed."""
        self._enough.set()
        self._calls.result()


class Programs(process.Parts):
    """Processes, with their files in a new directory. They are asked to end when this process dies, for any reason."""

    def program(self, *words: object, **env: str) -> psutil.Process:
        """Start a command."""
        # SIGINT ends uwsgi, too, which begins anew at a SIGTERM.
        started = self.run('', 'setpriv', '--pdeathsig', 'INT', '--', *map(str, words), **env)
        return psutil.Process(started.pid)

    def ready(self, pools: int = 1) -> None:
        """Wait until the API answers, and knows so many pools; make the default share type if there is none."""
        self.until(self.answers, 'the API answers')
        if not self.ok('GET', '/types')['share_types']:
            self.ok('POST', '/types', _TYPE)
        self.until(lambda: len(self.pools()) >= pools, 'the pools are known')


class Product(Programs):
    """The product with a configuration. ``auth``: settings at the end of ``DEFAULT``, which may go on with other groups.
    ``backend``: more settings of the backend.
    """

    CONFIG = _CONFIG

    def __init__(
        self,
        database: str = '',
        bus: str = 'inproc://',
        auth: str = 'auth_strategy = noauth',
        backend: str = '',
    ):
        extra = f'transport_url = {bus}\n{auth}\n'
        extra += f'[database]\nconnection = {database}\n' if database else ''
        super().__init__(extra, BACKEND + backend)

    def start(self, name: str) -> psutil.Process:
        """Start ``cmd/NAME.py``."""
        return self.program(sys.executable, '-m', f'manila_lite.cmd.{name}', f'--config-file={self.config}')

    def client(self, project: str = 'p') -> Client:
        """Return a client with all rights."""
        return Client(self.port, f'u:{project}:admin,member,reader')

    def has_service(self, binary: str) -> bool:
        """Say whether a service of this kind has sent a heartbeat."""
        with contextlib.closing(sqlite3.connect(self.state / 'manila_lite.sqlite')) as conn:
            return conn.execute('SELECT count(*) FROM services WHERE binary = ?', (binary,)).fetchone()[0] > 0


def family(process: psutil.Process) -> list[psutil.Process]:
    """Return a process with its children."""
    return [process, *process.children(recursive=True)]


def processor_time(process: psutil.Process) -> float:
    """Return the seconds that a process and its children have used so far."""
    return sum(sum(one.cpu_times()[:2]) for one in family(process))
