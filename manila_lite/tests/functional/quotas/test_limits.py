# SPDX-License-Identifier: Apache-2.0
"""Quotas of share networks, share groups and group snapshots: exactly as many can be made."""

from manila_lite.tests.functional import base


class Brinks(base.ServiceTest):
    def brink(self, project, resource, path, body, settled='available'):
        """Check that a quota of two admits two, and no third; return the ids."""
        self.admin.ok('PUT', f'/quota-sets/{project}', {'quota_set': {resource: 2}})
        caller = self.caller(project)
        [resource_type] = body
        made = []
        for _ in range(2):
            made.append(caller.ok('POST', path, body)[resource_type]['id'])
            caller.wait(f'{path}/{made[-1]}', resource_type, settled)
        status, document, _ = caller.call('POST', path, body)
        self.assertEqual((413, f'over_quota_{resource}'), (status, document['overLimit']['reason']))
        self.assertEqual({*made}, {one['id'] for one in caller.ok('GET', path)[f'{resource_type}s']})
        return made

    def test_third_share_network_exceeds_a_quota_of_two(self):
        self.brink('networks', 'share_networks', '/share-networks', {'share_network': {}}, 'active')

    def test_third_share_group_or_group_snapshot_exceeds_a_quota_of_two(self):
        kind = self.admin.ok('GET', '/types/default')['share_type']['id']
        group_type = self.admin.ok(
            'POST', '/share-group-types', {'share_group_type': {'name': 'of brinks', 'share_types': [kind]}}
        )['share_group_type']['id']
        made = self.brink(
            'groups',
            'share_groups',
            '/share-groups',
            {'share_group': {'share_group_type_id': group_type, 'share_types': [kind]}},
        )
        self.brink(
            'groups',
            'share_group_snapshots',
            '/share-group-snapshots',
            {'share_group_snapshot': {'share_group_id': made[0]}},
        )
