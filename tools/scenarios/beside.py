# SPDX-License-Identifier: Apache-2.0
"""A service that uses shares, beside the share service of a scenario: a process with its own configuration."""

import base64
import json
import subprocess
import urllib.error
import urllib.request

from scenarios import settings
from scenarios.leftovers import place_of, sockets_of
from scenarios.service import Trouble, free_port, write_private


class Beside:
    """The process of ``command``, with ``text`` as its configuration; ``paths`` are those of its API."""

    def __init__(self, demo, command, text, port):
        self.demo = demo
        self.command = command
        self.port = free_port(port)
        self._text = text
        self._process = None

    @property
    def url(self):
        """Return the URL of its API."""
        return f'http://{settings.V4}:{self.port}'

    def start(self, **values):
        """Start the service, and wait until it answers."""
        state = self.demo.state
        place_of(state).mkdir(exist_ok=True)
        write_private(
            state / f'{self.command}.conf',
            settings.BESIDE.format(
                state=state,
                place=place_of(state),
                v4=settings.V4,
                shares=self.demo.url,
                user=settings.SERVICE,
                password=self.demo.password,
                section=settings.accounts(state),
                log=state / f'{self.command}.log',
            )
            + self._text.format(
                state=state, sockets=sockets_of(state), port=self.port, v4=settings.V4, **values
            ),
        )
        with (state / 'console.log').open('ab') as log:
            self._process = subprocess.Popen(
                [self.command, f'--config-file={state}/{self.command}.conf'],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        (place_of(state) / 'pid').write_text(f'{self._process.pid}\n')
        self.demo.beside.append(self)
        self.demo.wait(f'{self.command} answers', self._answers)

    def _answers(self):
        if self._process.poll() is not None:
            raise Trouble(f'{self.command} ended with status {self._process.returncode}:\n{self.demo.logs()}')
        try:
            with urllib.request.urlopen(f'{self.url}/healthcheck', timeout=5) as answer:
                return answer.status == 200
        except (urllib.error.URLError, OSError):
            return False

    def stop(self):
        """End the process."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            self._process.wait(timeout=70)

    def api(self, method, path, body=None):
        """Send a request of the demo user; return (status, document)."""
        login = base64.b64encode(f'{settings.USER}:{self.demo.password}'.encode()).decode()
        request = urllib.request.Request(
            f'{self.url}{path}',
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={
                'Authorization': f'Basic {login}',
                'OpenStack-API-Version': 'compute 2.97',
                'Content-Type': 'application/json',
            },
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.loads(answer.read() or b'null')
        except urllib.error.HTTPError as refused:
            return refused.code, json.loads(refused.read() or b'null')

    def ask(self, method, path, body=None):
        """Show and send a request that must succeed; return the object in the answer."""
        self.demo.say(f'$ {method} {path} {"" if body is None else json.dumps(body)}')
        return self.get(path, method, body)

    def get(self, path, method='GET', body=None):
        """Send a request as ``ask`` does, without showing it."""
        status, document = self.api(method, path, body)
        if status >= 400:
            raise Trouble(f'{method} {path}: {status} {document}')
        return next(iter(document.values())) if document else None
