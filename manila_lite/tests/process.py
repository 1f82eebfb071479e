# SPDX-License-Identifier: Apache-2.0
"""``manila-lite``, or its parts, as processes, for tests that send HTTP requests to them and kill them."""

import contextlib
import fcntl
import functools
import json
import os
import random
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

import fixtures
import psutil

from manila_lite.drivers.dummy import knobs
from manila_lite.tests import forks, hush, waiting

_CONFIG = """
[DEFAULT]
state_path = {state}
host = test
auth_strategy = noauth
default_share_type = default
enabled_share_backends = alpha
osapi_share_listen = 127.0.0.1
osapi_share_listen_port = {port}
report_interval = 1
[scheduler]
restart_wait = 0
[operations]
poll_interval = 0.2
retry_delay = 0.1
lease = 60
{extra}
"""

#: Body of the request that makes the share type of these services.
DEFAULT_TYPE = {
    'share_type': {
        'name': 'default',
        'extra_specs': {
            'driver_handles_share_servers': 'False',
            'snapshot_support': 'True',
            'create_share_from_snapshot_support': 'True',
            'revert_to_snapshot_support': 'True',
            'mount_snapshot_support': 'True',
        },
    }
}


#: One byte for each port: who has it locked may use the port. A lock ends with its process.
_PORTS = Path(tempfile.gettempdir(), f'manila-lite-test-ports-{os.getuid()}')
_mine = set()  # ports of this process, which never gets one twice


def free_port():
    """Return a port that no process listens on, and that no other test gets, for as long as this process lives.

    It is for programs that cannot say which port they got, and for those that are started again on the same one. It is below
    those that the kernel gives to clients: none of them takes it.
    """
    return free_ports(1)


def free_ports(count):
    """Return the first of ``count`` consecutive ports, as ``free_port`` does."""
    first_of_clients = int(Path('/proc/sys/net/ipv4/ip_local_port_range').read_text().split()[0])
    while True:
        first = random.SystemRandom().randrange(10000, max(first_of_clients, 20000) - count)
        ports = range(first, first + count)
        with contextlib.ExitStack() as probes, contextlib.suppress(OSError):
            for port in ports:
                probes.enter_context(socket.socket()).bind(('127.0.0.1', port))
            if all(map(reserve, ports)):
                return first


@functools.cache
def _ports():
    return os.open(_PORTS, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)


def reserve(port):
    """Reserve the port for this process. Say whether that is possible."""
    if port in _mine:
        return False
    try:
        fcntl.lockf(_ports(), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
    except OSError:
        return False
    _mine.add(port)
    return True


class Lite(fixtures.Fixture):
    """A running ``manila-lite``, for any number of ``start`` and ``kill``. ``CONFIG``: form of its configuration file."""

    CONFIG = _CONFIG

    def __init__(self, extra='[alpha]\ndriver = dummy\n', token=f'u:p:admin,member,reader:{hush.MARK}token'):
        super().__init__()
        self._extra = extra
        self.token = token
        self.process = None

    def _setUp(self):
        self.state = Path(self.useFixture(fixtures.TempDir()).path)
        self.port = free_port()
        self.config = self.state / 'manila_lite.conf'
        self.config.write_text(self.CONFIG.format(state=self.state, port=self.port, extra=self._extra))
        self.log = self.state / 'log'
        self.addCleanup(hush.check, self.log)
        self.addCleanup(self.kill)

    def spawn(self):
        """Start the process, and do not wait for it."""
        with self.log.open('ab') as log:
            self.process = forks.start(
                'manila_lite.cmd.all_in_one:main', f'--config-file={self.config}', stdout=log, stderr=log
            )

    def start(self):
        """Start the process, and wait until it answers on its port."""
        self.spawn()
        end = time.monotonic() + waiting.LIMIT
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise AssertionError(f'exit {self.process.returncode}: {self.tail()}')
            try:
                self.call('GET', '/healthcheck', prefix='')
            except OSError:
                time.sleep(0.05)  # sleeps: between two tries; the process is watched at each
            else:
                return
        raise AssertionError(f'no answer within {waiting.LIMIT:g} s: {self.tail()}')

    def kill(self, signo=signal.SIGKILL):
        """Kill the process; return its exit status."""
        if self.process is None:
            return None
        if self.process.poll() is None:
            self.process.send_signal(signo)
        status = self.process.wait(timeout=waiting.LIMIT)
        self.process = None
        return status

    def died(self):
        """Wait until the process ends by itself; return its exit status."""
        status = self.process.wait(timeout=waiting.LIMIT)
        self.process = None
        return status

    def tail(self):
        """Return the end of the log, without the lines of requests."""
        lines = self.log.read_text(errors='replace').splitlines(keepends=True)
        return ''.join(line for line in lines if 'manila_lite.api.http.request_log' not in line)[-3000:]

    def threads(self):
        """Return the end of the log, and what each thread of a process that does not get on is at."""
        tail, seen = self.tail(), len(self.log.read_text(errors='replace'))
        self.process.send_signal(signal.SIGUSR2)
        end = time.monotonic() + 20  # limit: the test has failed already
        report = ''
        while 'Configuration' not in report and time.monotonic() < end:
            time.sleep(0.2)  # sleeps: between two looks at a report that may never come
            report = self.log.read_text(errors='replace')[seen:]
        return (
            f'{tail}\nIts threads (SIGUSR2):\n{report.partition("Configuration")[0][-30000:] or "no report"}'
        )

    def call(self, method, path, body=None, version='2.82', prefix='/v2', token=None):
        """Send a request; returns (status, document)."""
        request = urllib.request.Request(
            f'http://127.0.0.1:{self.port}{prefix}{path}',
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={
                'X-Auth-Token': token or self.token,
                'X-OpenStack-Manila-API-Version': version,
                'X-OpenStack-Manila-API-Experimental': 'true',
                'Content-Type': 'application/json',
            },
        )
        try:
            with urllib.request.urlopen(request, timeout=waiting.LIMIT) as answer:
                status, text = answer.status, answer.read()
        except urllib.error.HTTPError as refused:
            status, text = refused.code, refused.read()
        return status, json.loads(text) if text[:1] in (b'{', b'[') else None

    def ok(self, method, path, body=None, *, wait=True, **more):
        """Send a request that must succeed; return the document. A deletion has ended then, unless ``wait`` is false."""
        status, document = self.call(method, path, body, **more)
        if status >= 400:
            raise AssertionError(f'{method} {path}: {status} {document}\n{self.tail()}')
        if wait and (method, status) == ('DELETE', 202):
            waiting.until_deleted(lambda: self.call('GET', path, **more), path)
        return document

    def wait(self, path, key, until, field='status'):
        """Poll a resource until its field has a value of ``until``; ``'gone'`` means 404. Return it."""
        wanted = {until} if isinstance(until, str) else set(until)
        seen = []

        def found():
            status, document = self.call('GET', path)
            seen[:] = ('gone', None) if status == 404 else (document[key][field], document[key])
            return seen[0] in wanted

        waiting.until(found, lambda: f'{path} is {seen[0]}, not {wanted}\n{self.tail()}', pause=0.05)
        return seen[1]

    def knobs(self, *lines, backend='alpha'):
        """Give the backend these knobs and no others, none of them used up."""
        knobs.Knobs(self.state / backend).turn(*lines)


class Parts(Lite):
    """API, scheduler and share managers in processes, on one SQLite file, which exists. ``run`` starts each of them.

    No message gets from one to another; work is found by polling.
    """

    def __init__(self, extra='', backend='driver = dummy\n', **more):
        super().__init__(f'[alpha]\n{backend}\n[DEFAULT]\ntransport_url = inproc://\n{extra}', **more)

    def _setUp(self):
        super()._setUp()
        self.running = []
        self.addCleanup(self.end)
        self.manage('db', 'sync')

    def manage(self, *words):
        """Run a command of ``manila-manage``, which must succeed; return its output."""
        done = forks.run('manila_lite.cmd.manage:main', f'--config-file={self.config}', *words)
        done.check_returncode()
        return done.stdout

    def run(self, name, *command, config=None, **env):
        """Start a part (or the command given) in a session of its own; return its process.

        ``name``: that of a module of ``cmd``, or another program as ``module:function``.
        """
        with self.log.open('ab') as log:
            if command:
                started = subprocess.Popen(
                    command,
                    stdout=log,
                    stderr=log,
                    stdin=subprocess.DEVNULL,
                    start_new_session=True,
                    env=os.environ | {'PYTHONUNBUFFERED': '1'} | env,
                )
            else:
                program = name if ':' in name else f'manila_lite.cmd.{name}:main'
                started = forks.start(
                    program,
                    f'--config-file={config or self.config}',
                    stdout=log,
                    stderr=log,
                    env=os.environ | env,
                    new_session=True,
                )
        self.running.append(started)
        return started

    def begin(self):
        """Start all three, with a share type and a pool. Return the process of the share manager."""
        for name in ('api', 'scheduler'):
            self.run(name)
        manager = self.run('share')
        self.until(self.answers, 'the API answers')
        self.ok('POST', '/types', DEFAULT_TYPE)
        self.until(self.pools, 'a pool')
        return manager

    def end(self):
        """Kill all processes that were started, and their children."""
        for started in self.running:
            for one in [*children(started), psutil.Process(started.pid)] if started.poll() is None else ():
                with contextlib.suppress(psutil.NoSuchProcess):
                    one.kill()
            started.wait(timeout=waiting.LIMIT)

    def edit(self, old, new):
        """Replace a text in the configuration file."""
        text = self.config.read_text()
        if old not in text:
            raise AssertionError(f'{old} is not in {text}')
        self.config.write_text(text.replace(old, new))

    def until(self, check, what):
        """Wait until ``check`` returns something true; return it. A request without an answer counts as false."""
        return until(check, what, self.tail)

    def answers(self):
        """Say whether the API answers."""
        return self.call('GET', '/healthcheck', prefix='')[0] == 200

    def pools(self):
        """Return the names of the pools that schedulers know."""
        return [pool['name'] for pool in self.ok('GET', '/scheduler-stats/pools')['pools']]

    def share(self, size=1):
        """Request a share; return its id."""
        return self.ok('POST', '/shares', {'share': {'size': size, 'share_proto': 'NFS'}})['share']['id']

    def calls(self, method, backend='alpha'):
        """Return the number of calls of this method of the backend."""
        calls = self.state / backend / 'calls'
        return (
            sum(line.startswith(f'{method} ') for line in calls.read_text().splitlines())
            if calls.exists()
            else 0
        )


def until(check, what, tail):
    """Wait until ``check`` returns something true; return it. A request without an answer counts as false."""
    return waiting.until(check, lambda: f'{what}\n{tail()}', pause=0.05, ignoring=(OSError,))


def children(started):
    """Return the child processes that live, as psutil objects."""
    living = []
    with contextlib.suppress(psutil.NoSuchProcess):
        for child in psutil.Process(started.pid).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):  # it ended this moment, and the others live
                if child.status() != psutil.STATUS_ZOMBIE:
                    living.append(child)
    return living


def has_ended(process: psutil.Process) -> bool:
    """Say whether a process has ended, also if nobody has read its exit status yet."""
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
