# SPDX-License-Identifier: Apache-2.0
"""Share servers with a share group: they do not move, since a move would split the group."""

from manila_lite.db import models
from manila_lite.tests.functional import base

_NETWORKS = """
networks:
- id: net
  network_type: vlan
  segmentation_id: 100
  subnets:
  - {id: four, cidr: 10.1.0.0/20, gateway: 10.1.0.1}
"""
_SERVERS = 'driver_handles_share_servers = true\n'
_WANTED = {'writable': True, 'nondisruptive': False, 'preserve_snapshots': True}


class Groups(base.ServiceTest):
    BACKENDS = {'alpha': _SERVERS, 'beta': _SERVERS}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.service.use_networks(_NETWORKS)
        cls.kind = cls.admin.ok(
            'POST',
            '/types',
            {
                'share_type': {
                    'name': 'served',
                    'extra_specs': {'driver_handles_share_servers': 'True', 'snapshot_support': 'True'},
                }
            },
        )['share_type']['id']
        cls.group_type = cls.admin.ok(
            'POST',
            '/share-group-types',
            {'share_group_type': {'name': 'together', 'share_types': [cls.kind], 'group_specs': {}}},
        )['share_group_type']['id']
        cls.network = cls.admin.ok(
            'POST',
            '/share-networks',
            {'share_network': {'neutron_net_id': 'net', 'neutron_subnet_id': 'four'}},
        )['share_network']['id']

    def placed(self):
        """Make a group without shares, and a share of no group on the same server; return the group and the server."""
        group = self.admin.ok(
            'POST',
            '/share-groups',
            {
                'share_group': {
                    'share_group_type_id': self.group_type,
                    'share_types': [self.kind],
                    'share_network_id': self.network,
                }
            },
        )
        group = self.admin.wait(f'/share-groups/{group["share_group"]["id"]}', 'share_group', 'available')
        share = self.admin.share(
            share_type='served', share_network_id=self.network, scheduler_hints={'only_host': group['host']}
        )
        share = self.admin.ok('GET', f'/shares/{share["id"]}')['share']
        self.assertEqual(group['share_server_id'], share['share_server_id'])
        return group, self.admin.ok('GET', f'/share-servers/{group["share_server_id"]}')['share_server']

    def refused(self, server, group):
        """Check that the migration and its check are refused because of the group."""
        host = 'test@beta' if server['host'] == 'test@alpha' else 'test@alpha'
        for action in ('migration_check', 'migration_start'):
            status, document, _ = self.admin.call(
                'POST', f'/share-servers/{server["id"]}/action', {action: {**_WANTED, 'host': host}}
            )
            self.assertEqual(409, status, document)
            self.assertIn(f'hare group {group["id"]}', document['conflictingRequest']['message'])
        found = self.admin.ok('GET', f'/share-servers/{server["id"]}')['share_server']
        self.assertEqual(('active', None), (found['status'], found['task_state']))

    def test_migration_of_the_server_of_a_group_is_refused(self):
        group, server = self.placed()
        self.refused(server, group)

    def test_migration_of_the_server_of_a_share_in_a_group_is_refused(self):
        """Refuse to move the server of a share in the group, even if the group's row does not name the server."""
        group, server = self.placed()
        self.admin.share(share_type='served', share_group_id=group['id'])
        groups = models.share_groups
        with self.service.services.db.writer() as conn:
            conn.execute(groups.update().where(groups.c.id == group['id']).values(share_server_id=None))
        self.refused(server, group)
