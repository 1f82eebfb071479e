# SPDX-License-Identifier: Apache-2.0
"""The share service of the scenarios: everything in one process, on SQLite."""

import base64
import contextlib
import json
import os
import secrets
import socket
import subprocess
import time
import urllib.error
import urllib.request

import bcrypt

from manila_lite.tests import forks
from scenarios import down, settings

#: The openstack client, imported once for all its commands, and not asleep for five seconds whenever it waits.
_CLIENT = 'manila_lite.tests.openstack_page:command'


class Trouble(Exception):
    """A step did not do what it should; the message says what to look at."""


class Service:
    """One service, with its configuration and logs below a directory, and clients for it.

    ``console``: whether it serves the console.
    ``needs``: servers that run before it starts and until it has ended; ``beside``: those that start later and end before it.
    """

    def __init__(self, state, backend, identity=None):
        self.state = state
        self.identity = identity
        self.backend = backend
        self.process = None
        self.console = False
        self.port = 8786
        self.password = secrets.token_urlsafe(12)
        self.needs = [identity] if identity else []
        self.beside = []

    @property
    def config(self):
        """Return the path of the configuration file."""
        return self.state / 'manila_lite.conf'

    @property
    def url(self):
        """Return the URL of the API."""
        return f'http://{settings.V4}:{self.port}'

    def configure(self):
        """Write all files that the service reads."""
        self.state.mkdir(parents=True, exist_ok=True)
        (self.state / 'lib').mkdir(exist_ok=True)
        self.port = free_port(8786)
        login = self.identity.login(f'{self.url}/v2') if self.identity else self._basic()
        for name, text in settings.files(
            self.state, self.backend, self.port, login, console=self.console
        ).items():
            write_private(self.state / name, text)

    def _basic(self):
        """Return the settings for logins without Keystone: all users have one password."""
        hashed = bcrypt.hashpw(self.password.encode(), bcrypt.gensalt(10)).decode()
        write_private(
            self.state / 'htpasswd',
            ''.join(f'{user}:{hashed}\n' for user in (settings.USER, settings.ADMIN, settings.SERVICE)),
        )
        return settings.basic(self.state, self.url, self.password)

    def start(self):
        """Start the service, and wait until it answers and its backends have reported."""
        with open(os.devnull, 'wb') as nothing:  # the client is imported while the service starts
            forks.start(_CLIENT, '--version', stdout=nothing, stderr=nothing)
        with (self.state / 'console.log').open('ab') as log:
            self.process = subprocess.Popen(
                ['manila-lite', f'--config-file={self.config}'],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        (self.state / 'pid').write_text(f'{self.process.pid}\n')
        self.wait('the API answers', self._answers)
        self.wait('the backends are ready', self._ready)

    def _answers(self):
        if self.process.poll() is not None:
            raise Trouble(f'manila-lite ended with status {self.process.returncode}:\n{self.logs()}')
        try:
            with urllib.request.urlopen(f'{self.url}/healthcheck', timeout=5) as answer:
                return answer.status == 200
        except (urllib.error.URLError, OSError):
            return False

    def _ready(self):
        if self.identity:
            pools = json.loads(self.openstack(*self.as_operator, 'share', 'pool', 'list', '-f', 'json'))
        else:
            pools = self.api('GET', '/scheduler-stats/pools', user=settings.ADMIN)[1].get('pools', ())
        return len(pools) == len(settings.backends(self.backend))

    def stop(self):
        """End all processes and unmount everything, also if a part of that fails; stored data is kept until --down."""
        with contextlib.ExitStack() as last_first:
            for server in self.needs:
                last_first.callback(server.stop)
            last_first.callback(down.release, self.state, remove_data=False)
            last_first.callback((self.state / 'pid').unlink, missing_ok=True)
            last_first.callback(self._end)
            for other in reversed(self.beside):
                last_first.callback(other.stop)

    def _end(self):
        if self.process is None or self.process.poll() is not None:
            return
        self.process.terminate()
        try:
            self.process.wait(timeout=70)
        except subprocess.TimeoutExpired:
            self.process.kill()  # else its storage could not be unmounted
            self.process.wait()
            raise

    def logs(self):
        """Return the last lines of the logs."""
        lines = []
        for name in ('console.log', 'manila-lite.log', *(f'{other.command}.log' for other in self.beside)):
            with contextlib.suppress(OSError):
                lines += (self.state / name).read_text(errors='replace').splitlines()[-15:]
        return '\n'.join(lines)

    def wait(self, what, ready, patience=60):
        """Wait until ``ready`` returns something true; return it. ``patience`` in seconds."""
        end = time.monotonic() + patience
        while time.monotonic() < end:
            if answer := ready():
                return answer
            time.sleep(0.2)
        raise Trouble(f'not within {patience} s: {what}\n{self.logs()}')

    #: Options of the openstack client for calls that a member may not make.
    as_operator = '--os-cloud', settings.ADMIN_CLOUD

    # Requests -----------------------------------------------------------------------------

    def openstack(self, *words, check=True):
        """Run the openstack client; return its output."""
        done = self._client(*words)
        if check and done.returncode:
            raise Trouble(f'openstack {" ".join(words)}: {done.stderr.strip() or done.stdout.strip()}')
        return done.stdout

    def refused(self, *words):
        """Run a command of the openstack client that must fail; return its message."""
        done = self._client(*words)
        if not done.returncode:
            raise Trouble(f'openstack {" ".join(words)}: it works')
        return done.stderr.strip()

    def _client(self, *words):
        env = {
            **os.environ,
            'OS_CLIENT_CONFIG_FILE': str(self.state / 'clouds.yaml'),
            'OS_CLOUD': settings.CLOUD,
        }
        return forks.run(_CLIENT, *words, env=env, timeout=120)

    def api(self, method, path, body=None, *, user=settings.USER):
        """Send a request of a user to the API; return (status, document)."""
        request = urllib.request.Request(
            f'{self.url}/v2{path}',
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={
                'Authorization': f'Basic {base64.b64encode(f"{user}:{self.password}".encode()).decode()}',
                'X-OpenStack-Manila-API-Version': '2.82',
                'Content-Type': 'application/json',
            },
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.loads(answer.read() or b'null')
        except urllib.error.HTTPError as refused:
            return refused.code, json.loads(refused.read() or b'null')


def free_port(wanted):
    """Return the port, or another if a process listens on it."""
    for port in (wanted, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with contextlib.suppress(OSError):
                probe.bind((settings.V4, port))
                return probe.getsockname()[1]
    raise Trouble('no free port')


def write_private(path, text):
    """Write the text to a new file that only its owner can read."""
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), 'w') as out:
        out.write(text)
