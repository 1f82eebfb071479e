# SPDX-License-Identifier: Apache-2.0
"""Common parts of scenarios: steps that are timed and shown, and commands that are shown as a person would type them."""

import contextlib
import json
import subprocess
import sys
import time
from pathlib import Path

from scenarios import settings
from scenarios.service import Service, Trouble

TOP = Path(__file__).resolve().parents[2]
BOLD, GREEN, RED, DIM, PLAIN = (
    ('\033[1m', '\033[32m', '\033[31m', '\033[2m', '\033[0m') if sys.stdout.isatty() else [''] * 5
)


class Demo(Service):
    """A scenario with its service, and the time of each step. ``mebibytes``: content of a share that is migrated."""

    def __init__(self, state, backend, mebibytes=100, identity=None):
        super().__init__(state, backend, identity)
        self.mebibytes = mebibytes
        self.timings = []

    @contextlib.contextmanager
    def step(self, title):
        """Time one step, and show its result."""
        print(f'{BOLD}==> {title}{PLAIN}', flush=True)
        began = time.monotonic()
        yield
        took = time.monotonic() - began
        self.timings.append((title, took))
        print(f'    {GREEN}done{PLAIN} {DIM}in {took:.1f} s{PLAIN}', flush=True)

    def say(self, text):
        """Show a line of a step."""
        print(f'    {text}', flush=True)

    def show(self, *words):
        """Run the openstack client, shown as a person would type it; return the object in its output."""
        self.say(f'{DIM}$ openstack {" ".join(words)}{PLAIN}')
        return json.loads(self.openstack(*words, '-f', 'json') or 'null')

    def run(self, *words):
        """Run a command of the openstack client that prints nothing."""
        self.say(f'{DIM}$ openstack {" ".join(words)}{PLAIN}')
        self.openstack(*words)

    def manage(self, *words):
        """Run a command of manila-manage, which must end with 0; its output is shown as it comes."""
        self.say(f'{DIM}$ manila-manage --config-file {self.config} {" ".join(words)}{PLAIN}')
        status = subprocess.run(
            ['manila-manage', f'--config-file={self.config}', *words], stdin=subprocess.DEVNULL, timeout=300
        ).returncode
        if status:
            raise Trouble(f'manila-manage {" ".join(words)} ended with status {status}\n{self.logs()}')

    def share(self, **values):
        """Make a share of 1 GiB; return its id. Asks the API: the client takes seconds for each command."""
        share_id = self.ask('POST', '/shares', {'share': {'share_proto': 'NFS', 'size': 1, **values}})['id']

        def made():
            status = self.api('GET', f'/shares/{share_id}')[1]['share']['status']
            if status == 'error':
                raise Trouble(f'share {share_id} is in error:\n{self.logs()}')
            return status == 'available'

        self.wait('the share is there', made, 120)
        return share_id

    def unshare(self, share_id):
        """Delete the share, and wait until it is gone."""
        self.say(f'{DIM}$ DELETE /v2/shares/{share_id}{PLAIN}')
        self.api('DELETE', f'/shares/{share_id}')
        self.wait('the share is gone', lambda: self.api('GET', f'/shares/{share_id}')[0] == 404, 120)

    def ask(self, method, path, body, *, user=settings.USER):
        """Show and send a request of a user that must succeed; return the object in the answer."""
        self.say(
            f'{DIM}$ {method} /v2{path} {json.dumps(body)}{f"    # by {user}" * (user != settings.USER)}{PLAIN}'
        )
        status, document = self.api(method, path, body, user=user)
        if status >= 400:
            raise Trouble(f'{method} {path}: {status} {document}')
        return next(iter(document.values()))
