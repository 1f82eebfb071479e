# SPDX-License-Identifier: Apache-2.0
"""The commands for how full shares are (``client/``), against a real API."""

from oslo_utils import units

from manila_lite.manager.runtime.share_usage import UsageCollector
from manila_lite.tests.functional.clients.test_operation_commands import OperationTest


class Usage(OperationTest):
    BACKENDS = {'alpha': ''}
    EXTRA = 'share_usage_interval = 0\n'

    def usage(self, *words, **more):
        return self.cli('share', 'usage', *words, env=self.env_of(**more))

    def test_usage_is_listed_and_shown(self):
        mine, theirs = self.user.share(name='mine'), self.caller(project='q').share(name='theirs')
        manager = self.service.managers['alpha']
        UsageCollector(self.service.services, manager.host, manager.driver).collect()
        [row] = self.usage('list', '--min-percent', '0', '--limit', '1')
        self.assertEqual(
            {'Share ID': mine['id'], 'Name': 'mine', 'Percent Full': 0.0, 'Used': 0, 'Limit': units.Gi}, row
        )
        self.assertEqual([], self.usage('list', '--min-percent', '1', '--all-projects'))
        shown = self.usage('show', 'mine')
        self.assertEqual((mine['id'], units.Gi), (shown['share_id'], shown['limit_bytes']))
        self.assertNotIn('host', shown)
        rows = self.usage('list', '--all-projects', '--host', 'test@alpha', '--long', roles='admin')
        self.assertEqual({mine['id'], theirs['id']}, {row['Share ID'] for row in rows})
        self.assertEqual({'test@alpha#pool1'}, {row['Host'] for row in rows})
        said = self.run_cli('share', 'usage', 'show', theirs['id'], env=self.env_of(), fails=True)
        self.assertIn(theirs['id'], said)
        table = self.run_cli('share', 'usage', 'list', env=self.env_of())
        self.assertIn('1.00 GiB', table)
        for words, used, more in (
            (('mine',), None, {}),
            (('--project', 'p'), 1, {}),
            (('--pool', 'test@alpha#pool1', '--resolution', 'days'), 2, {'roles': 'admin'}),
        ):
            [point] = self.usage('history', *words, **more)
            self.assertEqual((0, used), (point['Used'], point.get('Shares')))
        said = self.run_cli('share', 'usage', 'history', '--project', 'q', env=self.env_of(), fails=True)
        self.assertIn('Project q could not be found', said)
