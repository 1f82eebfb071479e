# SPDX-License-Identifier: Apache-2.0
"""The unchanged data-processing client as ``openstack`` commands in an environment of its own, with both API versions."""

import json
import os
import subprocess
from pathlib import Path

import fixtures

from manila_lite.api.server.server import ApiServer
from manila_lite.siblings.dataproc import cmd
from manila_lite.tests import waiting
from manila_lite.tests.functional.siblings.dataproc.base import DataprocTest
from manila_lite.tests.services import environments
from manila_lite.tests.services.daemon import Missing

_COMMANDS = Path(__file__).with_name('commands.py')


class CommandsTest(DataprocTest):
    """One process in that environment runs all commands of a test. Skipped, with the reason, without the environment."""

    @classmethod
    def setUpClass(cls):
        try:
            cls.python = environments.find('dataproc', 'bin/openstack') / 'bin' / 'python'
        except Missing as missing:
            raise cls.skipException(str(missing)) from missing
        super().setUpClass()

    def setUp(self):
        super().setUp()
        server = ApiServer(cmd.SIBLING.wsgi(self.dataproc.services), '127.0.0.1', 0, 4)
        server.start()
        self.addCleanup(server.stop)
        self.at = f'http://127.0.0.1:{server.port}'
        self.files = Path(self.useFixture(fixtures.TempDir()).path)
        clean = {key: value for key, value in os.environ.items() if not key.startswith('OS_')}
        self.process = subprocess.Popen(
            [str(self.python), '-W', 'ignore', str(_COMMANDS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**clean, 'LC_ALL': 'C.UTF-8', 'HOME': str(self.files)},
            cwd=self.files,
        )
        self.addCleanup(self._end)

    def _end(self):
        self.process.stdin.close()
        self.process.wait(waiting.LIMIT)
        self.process.stdout.close()

    def command(self, version, *words, fails=False):
        """Run a command. Return its output, or its error output if it ``fails``."""
        prefix = {'1.1': 'v1.1', '2': 'v2'}[version]
        options = [
            '--os-auth-type',
            'admin_token',
            '--os-endpoint',
            self.at,
            '--os-token',
            self.me.token,
            '--os-data-processing-api-version',
            version,
            '--os-data-processing-url',
            f'{self.at}/{prefix}',
            'dataprocessing',
            *words,
        ]
        print(json.dumps(options), file=self.process.stdin, flush=True)
        status, out, err = json.loads(self.process.stdout.readline())
        self.assertEqual(fails, bool(status), f'{words}: {out}{err}')
        return err if fails else out

    def shown(self, version, *words):
        """Run a command. Return its output, parsed."""
        return json.loads(self.command(version, *words, '-f', 'json'))

    def file(self, document):
        """Return the path of a file with this document."""
        path = self.files / f'{len(list(self.files.iterdir()))}.json'
        path.write_text(json.dumps(document))
        return str(path)

    def test_a_cluster_by_the_old_version(self):
        self._story('1.1', 'hadoop_version')

    def test_a_cluster_by_the_new_version(self):
        self._story('2', 'plugin_version', changed=False)

    def _story(self, version, field, *, changed=True):
        of_node, of_cluster, later = self.shared(), self.shared(), self.shared()
        plain = {'plugin_name': 'plain', field: '1.0'}
        # The lists of plugins and images fail in the client itself: their formatters are of an older openstackclient.
        self.assertEqual('plain', self.shown(version, 'plugin', 'show', 'plain')['Name'])
        self.assertEqual('1.0, plain', self.shown(version, 'image', 'show', 'plain')['Tags'])
        node = self.shown(
            version,
            'node',
            'group',
            'template',
            'create',
            '--json',
            self.file(
                {
                    **plain,
                    'name': 'node',
                    'flavor_id': '1',
                    'node_processes': ['node'],
                    'shares': [{'id': of_node, 'path': '/data', 'access_level': 'ro'}],
                }
            ),
        )
        self.assertEqual(('node', '1.0', '1'), (node['Name'], node['Plugin version'], node['Flavor id']))
        whole = self.shown(
            version,
            'cluster',
            'template',
            'create',
            '--name',
            'whole',
            '--node-groups',
            'node:2',
            '--shares',
            self.file([{'id': of_cluster}]),
        )
        self.assertEqual('node:2', whole['Node groups'])
        made = self.shown(
            version,
            'cluster',
            'create',
            '--json',
            self.file({**plain, 'name': 'mine', 'cluster_template_id': whole['Id']}),
        )
        self.assertEqual(('mine', '1.0'), (made['Name'], made['Plugin version']))
        self.me.wait(made['Id'], 'Active')
        both = {of_node: ('/data', 'ro'), of_cluster: (f'/mnt/{of_cluster}', 'rw')}
        self.assertEqual({'fake-1': both, 'fake-2': both}, self.dataproc.mounted())
        seen = self.shown(version, 'cluster', 'show', 'mine', '--show-progress')
        self.assertEqual(('Active', 'Step completed successfully'), (seen['Status'], seen['shares: begin']))
        if changed:
            self._changes(version, made['Id'], later)
        forced = () if changed else ('--force',)  # version 2 added the option
        for words in (
            ('cluster', 'delete', *forced, 'mine'),
            ('cluster', 'template', 'delete', 'whole'),
            ('node', 'group', 'template', 'delete', 'node'),
        ):
            self.command(version, *words)
            self.me.wait(made['Id'], 'gone')
        self.assertEqual([{}] * 3, [self.rules(share) for share in (of_node, of_cluster, later)])
        self.assertEqual([], self.shown(version, 'cluster', 'list'))

    def _changes(self, version, cluster_id, share):
        bad = self.file([{'id': share, 'path': '/etc/x'}])
        self.assertIn(
            'belongs to the system',
            self.command(version, 'cluster', 'update', 'mine', '--shares', bad, fails=True),
        )
        self.assertEqual(
            'Configuring',
            self.shown(version, 'cluster', 'update', 'mine', '--shares', self.file([{'id': share}]))[
                'Status'
            ],
        )
        self.me.wait(cluster_id, 'Active')
        self.assertEqual(2, len(self.rules(share)))
        out = self.command(version, 'cluster', 'scale', 'mine', '--instances', 'node:1', '-f', 'json')
        self.assertEqual('InfraUpdating', json.loads(out.partition('\n')[2])['Status'])
        self.me.wait(cluster_id, 'Active')
        self.assertEqual(1, len(self.rules(share)))
        self.assertEqual(
            [('mine', 'Active')],
            [(one['Name'], one['Status']) for one in self.shown(version, 'cluster', 'list')],
        )
