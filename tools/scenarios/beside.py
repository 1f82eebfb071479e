# SPDX-License-Identifier: Apache-2.0
"""A service that uses shares, beside the share service of a scenario: a process with its own configuration."""

import base64
import contextlib
import json
import os
import signal
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

import psutil

from manila_lite.host import mounts
from scenarios import settings
from scenarios.service import Trouble, free_port, write_private

#: Folder of its files, below the scenario's directory.
_PLACE = 'beside'


def place_of(state):
    """Return the folder of files that are deleted at the end of the scenario."""
    return state / _PLACE


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
        (state / _PLACE).mkdir(exist_ok=True)
        write_private(state / f'{self.command}.conf', settings.BESIDE.format(
            state=state, place=state / _PLACE, v4=settings.V4, shares=self.demo.url, user=settings.SERVICE,
            password=self.demo.password, section=settings.accounts(state), log=state / f'{self.command}.log')
            + self._text.format(state=state, port=self.port, v4=settings.V4, **values))
        with (state / 'console.log').open('ab') as log:
            self._process = subprocess.Popen([self.command, f'--config-file={state}/{self.command}.conf'],
                                             stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        (state / _PLACE / 'pid').write_text(f'{self._process.pid}\n')
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
            f'{self.url}{path}', method=method, data=None if body is None else json.dumps(body).encode(),
            headers={'Authorization': f'Basic {login}', 'OpenStack-API-Version': 'compute 2.97',
                     'Content-Type': 'application/json'})
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


def gone(state):
    """End the processes and unmount the folders that a killed run has left."""
    pid = state / _PLACE / 'pid'
    if pid.exists():
        _end(int(pid.read_text()))
        pid.unlink()
    _end_guests(f'{state}/{_PLACE}/')
    table = [line.split(' ')[4] for line in Path('/proc/self/mountinfo').read_text().splitlines()]
    for place in sorted((place for place in table if place.startswith(f'{state}/{_PLACE}/')), reverse=True):
        mounts.unmount(Path(place))


def _end(pid):
    with contextlib.suppress(OSError):
        if b'mlite-' not in Path(f'/proc/{pid}/cmdline').read_bytes():
            return
        os.kill(pid, signal.SIGTERM)
        end = time.monotonic() + 70
        while time.monotonic() < end and Path(f'/proc/{pid}').exists():
            time.sleep(0.1)


def _end_guests(mark):
    for one in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if any(mark in word for word in one.cmdline()):
                one.kill()
                one.wait(30)
