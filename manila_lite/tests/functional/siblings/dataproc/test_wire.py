# SPDX-License-Identifier: Apache-2.0
"""HTTP interface: paths, versions, status codes, and every field that the data-processing client reads."""

from manila_lite.tests.functional.api.test_budgets import counting
from manila_lite.tests.functional.siblings.dataproc.base import DataprocTest, group

#: By resource type and version: fields of answers that the client's commands read unconditionally.
_BOTH = {
    'node_group_template': 'id name plugin_name node_processes description auto_security_group security_groups '
    'availability_zone flavor_id floating_ip_pool volumes_per_node volumes_size volume_type '
    'volume_local_to_instance volume_mount_prefix volumes_availability_zone use_autoconfig '
    'is_proxy_gateway is_default is_protected is_public shares image_id node_configs',
    'cluster_template': 'id name plugin_name description node_groups anti_affinity use_autoconfig is_default is_protected '
    'is_public domain_name shares cluster_configs neutron_management_network default_image_id',
    'cluster': 'cluster_template_id use_autoconfig user_keypair_id status default_image_id node_groups id info anti_affinity '
    'name is_transient is_protected description is_public neutron_management_network plugin_name shares '
    'status_description cluster_configs domain_name management_public_key trust_id created_at updated_at '
    'provision_progress',
}
_V1, _V2 = {'hadoop_version', 'tenant_id'}, {'plugin_version', 'project_id'}
_BOOT = {
    'boot_from_volume',
    'boot_volume_type',
    'boot_volume_availability_zone',
    'boot_volume_local_to_instance',
}


class WireTest(DataprocTest):
    """A service without an engine."""

    ENGINE = False

    def test_versions_are_shown_without_a_token(self):
        for path, status in (('/', 300), ('/v1.1', 200), ('/v2/', 200)):
            answer = self.dataproc.app.get(path, status=status)
            shown = [(one['id'], one['status']) for one in answer.json['versions']]
            both = [('v1.1', 'SUPPORTED'), ('v2', 'CURRENT')]
            self.assertEqual(both if path == '/' else [one for one in both if one[0] in path], shown)
        self.assertEqual(
            'http://localhost/v2', self.dataproc.app.get('/v2').json['versions'][0]['links'][0]['href']
        )

    def test_each_version_has_its_own_names(self):
        for version, own, other, field in (
            ('v1.1', _V1, _V2, 'hadoop_version'),
            ('v2', _V2, _V1, 'plugin_version'),
        ):
            for below in (version, f'{version}/p'):
                name = below.replace('/', '-').replace('.', '')
                body = {'name': name, 'plugin_name': 'plain', field: '1.0'}
                for path, resource_type, more in (
                    ('/node-group-templates', 'node_group_template', {}),
                    ('/cluster-templates', 'cluster_template', {'node_groups': [group()]}),
                    ('/clusters', 'cluster', {'node_groups': [group()]}),
                ):
                    status, made = self.me.call('POST', path, {**body, **more}, version=below)
                    self.assertEqual((202, [resource_type]), (status, list(made)))
                    self.assertEqual(set(), {*_BOTH[resource_type].split(), *own} - set(made[resource_type]))
                    self.assertEqual(set(), other & set(made[resource_type]))
                    self.assertEqual(
                        (resource_type == 'node_group_template' and version == 'v2'),
                        set(made[resource_type]) >= _BOOT,
                    )
                    one = f'{path}/{made[resource_type]["id"]}'
                    self.assertEqual((200, made), self.me.call('GET', one, version=below))
                    self.assertIn(
                        made[resource_type], self.me.ok('GET', path, version=below)[f'{resource_type}s']
                    )
                    self.assertEqual(202, self.me.call('PATCH', one, {'description': 'd'}, version=below)[0])
                    self.assertEqual((204, None), self.me.call('DELETE', one, version=below))
        self.assertEqual(
            400,
            self.me.refused(
                'POST',
                '/node-group-templates',
                {'name': 'x', 'plugin_name': 'plain', 'plugin_version': '1.0'},
                version='v1.1',
            )[0],
        )

    def test_templates_are_changed_by_put_too(self):
        made = self.me.ok(
            'POST',
            '/cluster-templates',
            {
                'name': 'a',
                'plugin_name': 'plain',
                'plugin_version': '1.0',
                'anti_affinity': [],
                'default_image_id': 'plain',
            },
        )
        path = f'/cluster-templates/{made["cluster_template"]["id"]}'
        status, changed = self.me.call(
            'PUT', path, {'name': 'b', 'node_groups': [group(node_processes=['node'])]}
        )
        self.assertEqual(
            (202, 'b', 'plain'),
            (status, changed['cluster_template']['name'], changed['cluster_template']['default_image_id']),
        )
        self.assertEqual(
            [['node']], [one['node_processes'] for one in changed['cluster_template']['node_groups']]
        )
        self.assertEqual('b', self.me.ok('GET', path)['cluster_template']['name'])

    def test_lists_are_continued_after_the_marker(self):
        for name in ('c', 'a', 'b'):
            self.me.ok(
                'POST', '/cluster-templates', {'name': name, 'plugin_name': 'plain', 'plugin_version': '1.0'}
            )
        seen, marker = [], ''
        while True:
            page = self.me.ok('GET', f'/cluster-templates?limit=2&sort_by=-name{marker}')
            seen += [one['name'] for one in page['cluster_templates']]
            if page['markers']['next'] is None:
                break
            marker = f'&marker={page["markers"]["next"]}'
        self.assertEqual(['c', 'b', 'a'], seen)
        for column in ('created_at', '-created_at', 'id'):
            listed = self.me.ok('GET', f'/cluster-templates?sort_by={column}')['cluster_templates']
            after = self.me.ok('GET', f'/cluster-templates?limit=9&sort_by={column}&marker={listed[0]["id"]}')
            self.assertEqual(listed[1:], after['cluster_templates'])
        self.assertEqual(
            ['a'],
            [one['name'] for one in self.me.ok('GET', '/cluster-templates?name=a')['cluster_templates']],
        )
        self.assertNotIn('markers', self.me.ok('GET', '/cluster-templates'))

    def test_there_is_one_plugin_and_a_list_of_images(self):
        for version in ('v1.1', 'v2'):
            plugins = self.me.ok('GET', '/plugins', version=version)['plugins']
            self.assertEqual([('plain', ['1.0'])], [(one['name'], one['versions']) for one in plugins])
            self.assertEqual(plugins[0], self.me.ok('GET', '/plugins/plain', version=version)['plugin'])
            detail = self.me.ok('GET', '/plugins/plain/1.0', version=version)['plugin']
            self.assertEqual(
                ({'plain': ['node']}, []), (detail['node_processes'], detail['required_image_tags'])
            )
            images = self.me.ok('GET', '/images', version=version)['images']
            self.assertEqual(
                [('plain', 'root', 'ACTIVE')],
                [(one['name'], one['username'], one['status']) for one in images],
            )
            self.assertEqual(
                images[0], self.me.ok('GET', f'/images/{images[0]["id"]}', version=version)['image']
            )
        for path in ('/plugins/vanilla', '/plugins/plain/2', '/images/x'):
            self.assertEqual((404, 'NOT_FOUND'), self.me.refused('GET', path)[:2])

    def test_unsupported_calls_are_not_implemented(self):
        for method, path in (
            ('GET', '/jobs'),
            ('POST', '/data-sources'),
            ('GET', '/job-binaries/x'),
            ('DELETE', '/job-executions/x'),
            ('GET', '/job-types'),
            ('POST', '/images/x'),
            ('PUT', '/images/x/tags'),
        ):
            self.assertEqual((501, 'NOT_IMPLEMENTED'), self.me.refused(method, path, version='v1.1')[:2])

    def test_list_takes_a_constant_number_of_statements(self):
        path = '/clusters'
        counts = []
        for number in range(4):
            self.me.ok(
                'POST',
                path,
                {
                    'name': f'c{number}',
                    'plugin_name': 'plain',
                    'plugin_version': '1.0',
                    'node_groups': [group()],
                },
            )
            with counting(self.dataproc.services.db.engine) as seen:
                self.me.ok('GET', path)
            counts.append(len([text for _, text in seen.statements if text.startswith('SELECT')]))
        self.assertEqual(1, len(set(counts)), counts)
        self.assertLessEqual(counts[0], 6)
