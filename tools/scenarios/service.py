# SPDX-License-Identifier: Apache-2.0
"""Services of the scenarios: processes with an API. The share service has everything in one process, on SQLite."""

import contextlib
import json
import os
import secrets
import socket
import subprocess
import sys

import bcrypt
from keystoneauth1 import http_basic, session

from manila_lite.tests import forks, process, waiting
from manila_lite.tests.services.daemon import serves
from scenarios import down, settings

BOLD, GREEN, RED, DIM, PLAIN = (
    ('\033[1m', '\033[32m', '\033[31m', '\033[2m', '\033[0m') if sys.stdout.isatty() else [''] * 5
)
#: The openstack client, imported once for all its commands, and not asleep for five seconds whenever it waits.
_CLIENT = 'manila_lite.tests.openstack_page:command'
_VERSIONS = {'X-OpenStack-Manila-API-Version': '2.82', 'OpenStack-API-Version': 'compute 2.97'}
_REQUEST_LOG = 'manila_lite.api.http.request_log'


class Trouble(Exception):
    """A step did not do what it should; the message says what to look at."""


class Program:
    """The process of a command, which serves an API. ``state``: the directory of the scenario, with all logs.

    ``PREFIX``: what the paths of requests are behind.
    """

    PREFIX = ''

    def __init__(self, state, command, port, password):
        self.state = state
        self.command = command
        self.port = free_port(port)
        self.password = password
        self.process = None

    @property
    def url(self):
        """Return the URL of the API."""
        return f'http://{settings.V4}:{self.port}'

    def launch(self, config, record):
        """Start the process, which reads the file ``config``; the file ``record`` gets its pid. Wait until it answers."""
        with (self.state / 'console.log').open('ab') as log:
            self.process = subprocess.Popen(
                [self.command, f'--config-file={config}'],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        record.write_text(f'{self.process.pid}\n')
        self.wait(f'{self.command} answers', self._answers)

    def _answers(self):
        if (status := self.process.poll()) is not None:
            raise Trouble(f'{self.command} ended with status {status}:\n{self.logs()}')
        return serves(self.port, '/healthcheck')

    def stop(self):
        """End the process."""
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
        """Return the last lines of the logs, without those of requests: they would hide the reason."""
        return '\n'.join(
            line
            for path in sorted(self.state.glob('*.log'))
            for line in [
                line for line in path.read_text(errors='replace').splitlines() if _REQUEST_LOG not in line
            ][-15:]
        )

    def wait(self, what, ready):
        """Wait until ``ready`` returns something true; return it."""
        return waiting.until(ready, lambda: f'{what}\n{self.logs()}', pause=0.2)

    def say(self, text):
        """Show a line of a step."""
        print(f'    {text}', flush=True)

    # Requests -----------------------------------------------------------------------------

    def auth(self, user):
        """Return the login of a user."""
        return http_basic.HTTPBasicAuth(self.url, user, self.password)

    def call(self, method, path, body=None, *, user=settings.USER):
        """Send a request of a user; return (status, document)."""
        answer = session.Session(self.auth(user)).request(
            f'{self.url}{self.PREFIX}{path}',
            method,
            json=body,
            headers=_VERSIONS,
            raise_exc=False,
            timeout=60,
        )
        return answer.status_code, answer.json() if answer.content else None

    def get(self, path, method='GET', body=None, *, user=settings.USER):
        """Send a request of a user that must succeed; return the object in the answer."""
        status, document = self.call(method, path, body, user=user)
        if status >= 400:
            raise Trouble(f'{method} {path}: {status} {document}')
        return next(iter(document.values())) if document else None

    def ask(self, method, path, body=None, *, user=settings.USER):
        """Show and send a request of a user that must succeed; return the object in the answer."""
        sent = '' if body is None else f' {json.dumps(body)}'
        by = f'    # by {user}' * (user != settings.USER)
        self.say(f'{DIM}$ {method} {self.PREFIX}{path}{sent}{by}{PLAIN}')
        return self.get(path, method, body, user=user)

    def delete(self, path, *, user=settings.USER):
        """Show and send the deletion of a resource, and wait until it is gone."""
        self.ask('DELETE', path, user=user)
        self.wait(f'{path} is gone', lambda: self.call('GET', path, user=user)[0] == 404)


class Service(Program):
    """The share service, with its configuration and logs below a directory, and clients for it.

    ``console``: whether it serves the console.
    ``needs``: servers that run before it starts and until it has ended; ``beside``: those that start later and end before it.
    """

    PREFIX = '/v2'

    def __init__(self, state, backend, identity=None):
        super().__init__(state, 'manila-lite', 8786, secrets.token_urlsafe(12))
        self.config = state / 'manila_lite.conf'
        self.identity = identity
        self.backend = backend
        self.console = False
        self.needs = [identity] if identity else []
        self.beside = []

    def auth(self, user):
        """Return the login of a user, by Keystone where there is one."""
        return self.identity.auth(user) if self.identity else super().auth(user)

    def configure(self):
        """Write all files that the service reads."""
        (self.state / 'lib').mkdir(parents=True, exist_ok=True)
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
        self.launch(self.config, self.state / 'pid')
        self.wait('the backends are ready', self._ready)

    def _ready(self):
        pools = self.get('/scheduler-stats/pools', user=settings.ADMIN)
        return len(pools) == len(settings.backends(self.backend))

    def stop(self):
        """End all processes and unmount everything, also if a part of that fails; stored data is kept until --down."""
        with contextlib.ExitStack() as last_first:
            for server in self.needs:
                last_first.callback(server.stop)
            last_first.callback(down.release, self.state, remove_data=False)
            last_first.callback((self.state / 'pid').unlink, missing_ok=True)
            last_first.callback(super().stop)
            for other in reversed(self.beside):
                last_first.callback(other.stop)

    #: Options of the openstack client for calls that a member may not make.
    as_operator = '--os-cloud', settings.ADMIN_CLOUD

    def openstack(self, *words, works=True):
        """Run the openstack client; return its output, or its message if it must not work."""
        env = {
            **os.environ,
            'OS_CLIENT_CONFIG_FILE': str(self.state / 'clouds.yaml'),
            'OS_CLOUD': settings.CLOUD,
        }
        done = forks.run(_CLIENT, *words, env=env, timeout=120)
        if works != (done.returncode == 0):
            raise Trouble(f'openstack {" ".join(words)}: {done.stderr.strip() or done.stdout.strip()}')
        return done.stdout if works else done.stderr.strip()


def free_port(wanted):
    """Return the port, or another if a process listens on it."""
    with contextlib.suppress(OSError), socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((settings.V4, wanted))
        return wanted
    return process.free_port()


def write_private(path, text):
    """Write the text to a new file that only its owner can read."""
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), 'w') as out:
        out.write(text)


def begin(what, server, there):
    """Start a server that is for one scenario alone. It runs until the stack ``there`` is closed, or this process ends.
    ``what``: its name in messages.
    """
    try:
        server.setUp()
    except Exception as bad:
        # fixtures puts the exception into a tuple, with those of the clean-up after it.
        why = next((one[1] for one in bad.args if isinstance(one, tuple)), bad)
        raise Trouble(f'{what}: {why}') from bad
    there.callback(server.cleanUp)
