# SPDX-License-Identifier: Apache-2.0
"""Ensure reads the section of its backend again, and nothing else (issue 19, 9)."""

import fixtures

from manila_lite.manager.plans import ensure as plan
from manila_lite.tests.functional import base
from manila_lite.tests.functional.ensure import test_shares as test_ensure_shares

_OTHER = 'test@beta'


class Configuration(test_ensure_shares.EnsureTest):
    """Two backends of one process, whose file changes while they run."""

    BACKENDS = {
        'alpha': 'dummy_pools = first\nshare_backend_name = one\n',
        'beta': 'share_backend_name = two\n',
    }

    def setUp(self):
        super().setUp()
        self.idle(_OTHER)
        path = self.service.state / 'manila_lite.conf'
        self.file, self.text = path, path.read_text()
        self.addCleanup(self._restore)

    def _restore(self):
        self.file.write_text(self.text)
        self.ensure()
        self.ensure(_OTHER)

    def edit(self, *changes, section='alpha'):
        """Put lines into a section, in the place of those for the same options."""
        begin, mark, rest = self.file.read_text().partition(f'[{section}]\n')
        own, more, others = rest.partition('\n\n')
        names = [line.partition(' =')[0] for line in changes]
        kept = [line for line in own.splitlines() if line.partition(' =')[0] not in names]
        self.file.write_text(begin + mark + '\n'.join((*kept, *changes)) + more + others)

    def paths(self, share_id):
        found = self.admin.ok('GET', f'/shares/{share_id}/export_locations')['export_locations']
        return {one['path'].rpartition(':')[0] for one in found if not one['is_admin_only']}

    def names(self):
        """Return the names of backends in the last reports of pools."""
        pools = self.admin.ok('GET', '/scheduler-stats/pools/detail')['pools']
        return {pool['capabilities']['share_backend_name'] for pool in pools}

    def share_of(self, name):
        # The test before may have renamed the backend, and its next report is yet to come.
        base.eventually(lambda: name in self.names(), f'no pool of {name}')
        return self.admin.share(share_type=self.kind(name))['id']

    def kind(self, name):
        specs = {'driver_handles_share_servers': 'False', 'share_backend_name': name}
        kinds = {one['name']: one['id'] for one in self.admin.ok('GET', '/types')['share_types']}
        return (
            kinds.get(name)
            or self.admin.ok('POST', '/types', {'share_type': {'name': name, 'extra_specs': specs}})[
                'share_type'
            ]['id']
        )

    def test_changed_option_is_applied_to_this_backend_alone(self):
        mine, other = self.share_of('one'), self.share_of('two')
        before = self.paths(other)
        self.edit('dummy_export_ips = 10.9.9.9')
        self.edit('dummy_export_ips = 10.8.8.8', section='beta')
        self.file.write_text(
            self.file.read_text().replace('default_share_type = default', 'default_share_type = one')
        )
        found = self.ensure()
        self.assertEqual('done', found['state'])
        self.assertEqual(
            {'configuration': {'applied': ['dummy_export_ips'], 'restart': []}},
            {'configuration': found['report']['configuration']},
        )
        self.assertEqual(({'10.9.9.9'}, before), (self.paths(mine), self.paths(other)))
        self.assertEqual('default', self.service.conf.default_share_type)
        self.assertNotEqual(['10.8.8.8'], self.service.conf.beta.dummy_export_ips)

    def test_option_that_needs_a_restart_is_named_and_not_applied(self):
        self.edit(
            'dummy_export_ips = 10.9.9.9', 'dummy_protocols = CIFS', 'driver_handles_share_servers = true'
        )
        for expected in (['dummy_export_ips'], []):  # those that wait for a restart are named each time
            self.assertEqual(
                {'applied': expected, 'restart': ['driver_handles_share_servers', 'dummy_protocols']},
                self.ensure()['report']['configuration'],
            )
        self.assertEqual(['NFS', 'CIFS'], self.service.conf.alpha.dummy_protocols)

    def test_option_that_is_taken_out_gets_its_default(self):
        self.edit('dummy_export_ips = 10.9.9.9')
        self.ensure()
        self.file.write_text(self.text)
        self.assertEqual(['dummy_export_ips'], self.ensure()['report']['configuration']['applied'])
        self.assertEqual(['10.0.0.1', 'fd00::1'], list(self.service.conf.alpha.dummy_export_ips))

    def test_broken_file_is_a_clear_error_and_the_old_values_stay(self):
        share_id = self.share_of('one')
        self.edit('dummy_export_ips = 10.9.9.9')
        self.ensure()
        for line, named in (
            ('[DEFAULT', 'manila_lite.conf'),
            ('dummy_pool_size_gb = much', 'much'),
            ('dummy_export_ips = nonsense', '[alpha] dummy_export_ips: nonsense is not'),
            ('dummy_export_ips =', 'dummy_export_ips is empty'),
        ):
            self.file.write_text(self.text)
            self.edit(line)
            log = self.useFixture(fixtures.FakeLogger(plan.LOG.logger.name))
            found = self.ensure()
            self.assertEqual('failed', found['state'])
            self.assertIn(named, found['error'])
            self.assertIn('old values', found['error'])
            self.assertIn('[alpha] the configuration could not be read again', log.output)
            self.assertEqual(({'10.9.9.9'}, []), (self.paths(share_id), self.told(share_id)))
            self.assertEqual(['available'], self.statuses([share_id]))

    def test_broken_section_of_another_backend_does_not_matter(self):
        self.edit('dummy_export_ips = 10.9.9.9')
        self.edit('dummy_export_ips = nonsense', section='beta')
        self.assertEqual(
            ('done', ['dummy_export_ips']),
            ((found := self.ensure())['state'], found['report']['configuration']['applied']),
        )

    def test_pool_size_and_name_reach_the_scheduler(self):
        self.edit('dummy_pool_size_gb = 55', 'share_backend_name = uno')
        self.ensure()

        def seen():
            [pool] = self.admin.ok('GET', '/scheduler-stats/pools/detail?backend=alpha')['pools']
            return pool['capabilities']['total_capacity_gb'], pool['capabilities']['share_backend_name']

        base.eventually(lambda: seen() == (55, 'uno'), 'the scheduler does not see the new values')

    def test_values_read_since_the_start_are_dropped_when_the_process_reads_all_files(self):
        self.edit('ensure_interval = 3600')
        self.ensure()
        self.assertEqual(3600, self.service.conf.alpha.ensure_interval)
        self.file.write_text(self.text)
        self.service.conf.mutate_config_files()
        self.service.managers['alpha'].reload()
        self.assertEqual(0, self.service.conf.alpha.ensure_interval)
        self.assertEqual([], self.ensure()['report']['configuration']['applied'])
