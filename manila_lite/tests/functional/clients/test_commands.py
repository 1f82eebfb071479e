# SPDX-License-Identifier: Apache-2.0
"""Call every ``openstack share`` command of the installed client, and check its effect."""

import dataclasses
import json
import re
import subprocess
import sys
import urllib.request

from manila_lite.api import contract
from manila_lite.tests.functional import base
from manila_lite.tests.functional.clients import commands, osc, service

_SERVERS = 'driver_handles_share_servers = true\nserver_migration_driver_continue_update_interval = 0.1\n'
_SHARES = 'migration_driver_continue_update_interval = 0.1\ndummy_replication_domain = here\n'
_NO_SUCH = re.compile('HTTP 40[45]|could not be found|No [a-z]+ with a name or ID')


class Commands(service.ClientTest):
    """Two backends without share servers, and two with."""

    BACKENDS = {'alpha': _SHARES, 'beta': _SHARES, 'gamma': _SERVERS, 'delta': _SERVERS}

    def run_lines(self, text, patience=60, **env):
        """Run the lines; return the result of each. ``env``: more of the client's environment."""
        wired = self.post('/share-networks', {'share_network': {
            'name': 'wired', 'neutron_net_id': 'blue', 'neutron_subnet_id': 'blue-v4'}})['share_network']['id']
        asked = {'lines': [dataclasses.asdict(line) for line in osc.read(text)], 'patience': patience,
                 'known': commands.KNOWN | {'WIRED': wired}}
        done = subprocess.run([sys.executable, '-m', osc.__name__], capture_output=True, text=True, env=self.env(**env),
                              check=True, timeout=900, input=json.dumps(asked))
        return [osc.Done(**json.loads(line)) for line in done.stdout.splitlines()]

    def post(self, path, body):
        """Send a POST request as the user of the commands, who has no token; return the document."""
        request = urllib.request.Request(f'{self.url}/v2{path}', json.dumps(body).encode(), {
            'Content-Type': 'application/json', 'X-OpenStack-Manila-API-Version': base.LATEST})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def test_members_and_readers_name_their_resources_by_name_and_id(self):
        for roles, text in (('member,reader', commands.OF_MEMBER), ('reader', commands.OF_READER)):
            done = self.run_lines(text, OS_AUTH_TYPE='admin_token', OS_ENDPOINT=f'{self.url}/v2', OS_TOKEN=f'u:p:{roles}')
            self.assertEqual(len(osc.read(text)), len(done))
            self.assertEqual([], [f'openstack {" ".join(one.words)}\n{one.wrong}\n{one.said}' for one in done if one.wrong])

    def test_every_command_gives_the_expected_result(self):
        known, ours = osc.commands(), {f'{op.method} {op.path} {op.action or ""}'.strip() for op in contract.OPS}
        called = {osc.command_of(line.words, known) for line in osc.read(commands.LINES)}
        missing = {name for name in known if commands.not_served(name)}
        self.assertEqual(set(known), called | missing, 'each is in one of the tables of clients/commands.py')
        self.assertEqual(set(), called & missing)
        self.assertEqual([], [path for path in commands.NOT_SERVED.values() if path in ours], 'served now: give its words')
        refused = [f'{name} {"x " * known[name]}! ' for name in sorted(missing)]
        done = self.run_lines('\n'.join([*commands.LINES.splitlines(), *refused]))
        self.assertEqual([], [f'openstack {" ".join(one.words)}\n{one.wrong}\n{one.said}' for one in done if one.wrong])
        self.assertEqual([], [one.said for one in done[len(done) - len(refused):] if not _NO_SUCH.search(one.said)])
        print('Not served yet:', *(f'openstack {name}' for name in sorted(missing)), sep='\n')
