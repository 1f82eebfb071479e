# SPDX-License-Identifier: Apache-2.0
"""Call every ``openstack share`` command of the installed client, as each role, by name and by id, and check its effect."""

import dataclasses
import json
import re
import subprocess
import sys

from manila_lite.api import v2
from manila_lite.tests import waiting
from manila_lite.tests.functional.clients import commands, osc, service

_SERVERS = 'driver_handles_share_servers = true\nserver_migration_driver_continue_update_interval = 0.1\n'
_SHARES = 'migration_driver_continue_update_interval = 0.1\ndummy_replication_domain = here\n'
#: The roles in the token of a caller with this one; Keystone's tokens list them so.
_WITH = {'reader': 'reader', 'member': 'member,reader', 'admin': 'admin,member,reader'}
_NO_SUCH = re.compile('HTTP 40[45]|could not be found|No [a-z]+ with a name or ID')


class Commands(service.ClientTest):
    """Two backends without share servers, and two with. Each walk through the table leaves nothing."""

    BACKENDS = {'alpha': _SHARES, 'beta': _SHARES, 'gamma': _SERVERS, 'delta': _SERVERS}

    def walk(self, by, *roles, text=commands.LINES, waits=True):
        """Run the lines as these roles of a project; check that each command does what is expected. Return the results.

        ``waits``: whether a line waits for its text.
        """
        project = f'{"-".join(roles)}-by-{by}'
        wired = self.caller(project).ok(
            'POST',
            '/share-networks',
            {'share_network': {'name': 'wired', 'neutron_net_id': 'blue', 'neutron_subnet_id': 'blue-v4'}},
        )['share_network']['id']
        lines = osc.read(text)
        asked = {
            'lines': [dataclasses.asdict(line) for line in lines],
            'patience': waiting.LIMIT if waits else 0,
            'by': by,
            'callers': {role: ['--os-token', f'{role}:{project}:{_WITH[role]}'] for role in roles},
            'known': {'PROJECT': project, 'WIRED': wired},
        }
        run = subprocess.run(
            [sys.executable, '-m', osc.__name__],
            capture_output=True,
            text=True,
            env=self.env(OS_AUTH_TYPE='admin_token'),
            input=json.dumps(asked),
        )
        self.assertEqual(0, run.returncode, run.stderr)
        done = [osc.Done(**json.loads(line)) for line in run.stdout.splitlines()]
        self.assertEqual(
            [],
            [
                f'{one.role}: openstack {" ".join(one.words)}\n{one.wrong}\n{one.said}'
                for one in done
                if one.wrong
            ],
        )
        self.assertEqual(len(list(osc.plan(lines, roles, by))), len(done))
        return done

    def test_each_command_has_a_line(self):
        """Check that each command is in one of the tables of clients/commands.py."""
        known, ours = (
            osc.commands(),
            {f'{op.method} {op.path} {op.action or ""}'.strip() for op in v2.CALLS},
        )
        called = {osc.command_of(line.words, known) for line in osc.read(commands.LINES)}
        missing = {name for name in known if commands.not_served(name)}
        self.assertEqual(set(known), called | missing)
        self.assertEqual(set(), called & missing)
        self.assertEqual(
            [], [path for path in commands.NOT_SERVED.values() if path in ours], 'served now: give its words'
        )

    def test_each_role_by_name(self):
        self.walk('name', *osc.ROLES)

    def test_each_role_by_id(self):
        self.walk('id', *osc.ROLES)

    def test_administrator_by_id(self):
        self.walk('id', 'admin')

    def test_administrator_by_name(self):
        known = osc.commands()
        missing = [name for name in sorted(known) if commands.not_served(name)]
        refused = [f'admin  {name} {"x " * known[name]}! ' for name in missing]
        done = self.walk('name', 'admin', text='\n'.join([commands.LINES, *refused]))
        self.assertEqual(
            [], [one.said for one in done[len(done) - len(refused) :] if not _NO_SUCH.search(one.said)]
        )
        print('Not served yet:', *(f'openstack {name}' for name in missing), sep='\n')
