# SPDX-License-Identifier: Apache-2.0
"""Common parts of scenarios: steps that are timed and shown, and commands that are shown as a person would type them."""

import contextlib
import json
import subprocess
import time
from pathlib import Path

from manila_lite.cmd.manage.watch import Progress, fraction, watch
from manila_lite.states import Migration
from scenarios.service import BOLD, DIM, GREEN, PLAIN, Service, Trouble
from scenarios.settings import ADMIN

TOP = Path(__file__).resolve().parents[2]


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

    def show(self, *words):
        """Run the openstack client, shown as a person would type it; return the object in its output."""
        self.say(f'{DIM}$ openstack {" ".join(words)}{PLAIN}')
        return json.loads(self.openstack(*words, '-f', 'json') or 'null')

    def run(self, *words):
        """Run a command of the openstack client; show and return what it prints."""
        self.say(f'{DIM}$ openstack {" ".join(words)}{PLAIN}')
        said = self.openstack(*words)
        for line in said.splitlines():
            self.say(line)
        return said

    def manage(self, *words):
        """Run a command of manila-manage, which must end with 0. Show its output as it comes, and return it."""
        self.say(f'{DIM}$ manila-manage --config-file {self.config} {" ".join(words)}{PLAIN}')
        lines = []
        command = ['manila-manage', f'--config-file={self.config}', *words]
        with subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
        ) as process:
            for line in process.stdout:
                self.say(line.rstrip())
                lines.append(line)
        if process.returncode:
            raise Trouble(
                f'manila-manage {" ".join(words)} ended with status {process.returncode}\n{self.logs()}'
            )
        return ''.join(lines)

    # Requests of the API: the openstack client takes seconds for each command ---------------

    def share_type(self, servers='False', name='default', **specs):
        """Make a share type, as the administrator."""
        specs = {'driver_handles_share_servers': servers, **specs}
        self.ask('POST', '/types', {'share_type': {'name': name, 'extra_specs': specs}}, user=ADMIN)

    def network(self, name):
        """Make a share network in the subnet red-v4; return its id."""
        self.say(
            'The client would look these ids up in Neutron. They are in a file here, so the API is asked itself:'
        )
        body = {'name': name, 'neutron_net_id': 'red', 'neutron_subnet_id': 'red-v4'}
        return self.ask('POST', '/share-networks', {'share_network': body})['id']

    def share(self, **values):
        """Make a share of 1 GiB; return its id."""
        share_id = self.ask('POST', '/shares', {'share': {'share_proto': 'NFS', 'size': 1, **values}})['id']
        self.wait(
            'the share is there', lambda: self.has_settled(f'/shares/{share_id}', 'status', 'available')
        )
        return share_id

    def has_settled(self, path, field, wanted):
        """Say whether a field of a resource has the value.

        :raises Trouble: it is in error.
        """
        found = self.get(path, user=ADMIN)[field]
        if str(found).endswith('error'):
            raise Trouble(f'{path} is in error:\n{self.logs()}')
        return found == wanted

    def paths(self, share_id):
        """Return the paths of the share, the preferred one first."""
        found = self.get(f'/shares/{share_id}/export_locations')
        return [one['path'] for one in sorted(found, key=lambda one: not one['preferred'])]

    def grant(self, share_id, to, kind='ip', level='rw'):
        """Add an access rule, and wait until it is in force; return it, with the key of a native client."""
        body = {'access_type': kind, 'access_to': to, 'access_level': level}
        rule = self.ask('POST', f'/shares/{share_id}/action', {'allow_access': body})['id']
        path = f'/share-access-rules/{rule}'
        self.wait(f'the rule for {to} is in force', lambda: self.has_settled(path, 'state', 'active'))
        return self.get(path)

    def delete_last(self, share_id):
        """Delete a share, and show how many are left."""
        self.run('share', 'delete', share_id, '--wait')
        self.say(f'shares left: {len(self.show("share", "list"))}')

    def watch_copy(self, path, ready):
        """Show how far the migration of a resource has copied it, until its task state is ``ready``."""

        def progress():
            status, now = self.call('POST', f'{path}/action', {'migration_get_progress': None}, user=ADMIN)
            if status >= 400:
                raise Trouble(f'migration_get_progress: {status} {now}')
            ended = {ready: True, Migration.ERROR: False, Migration.CANCELLED: False}.get(now['task_state'])
            done, total = ((now[name] or 0) >> 20 for name in ('bytes_done', 'bytes_total'))
            return Progress(
                '    copied ' if ended else '    copying',
                now['total_progress'],
                fraction(done, total, 'MiB') if total else '',
                now['seconds_left'],
                ended=ended,
            )

        if watch(progress, 0.2):
            raise Trouble(f'the copy did not become ready\n{self.logs()}')
