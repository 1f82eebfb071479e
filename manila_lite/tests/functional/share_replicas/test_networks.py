# SPDX-License-Identifier: Apache-2.0
"""Replicas on share servers, in the share network of their share or in one of their own."""

import datetime

from oslo_utils import timeutils

from manila_lite.db import models
from manila_lite.db.queries import unused_share_servers
from manila_lite.tests.functional.share_replicas.test_share_replicas import Replicating

_BACKEND = 'dummy_replication_domain = far\ndriver_handles_share_servers = true\nbackend_availability_zone = zone-{}\n'
_NETWORKS = """
networks:
- id: net
  network_type: vlan
  segmentation_id: 100
  subnets:
  - {id: four, cidr: 10.1.0.0/20, gateway: 10.1.0.1}
  - {id: other, cidr: 10.2.0.0/20}
"""


class OnServers(Replicating):
    BACKENDS = {'alpha': _BACKEND.format('a'), 'beta': _BACKEND.format('b')}
    EXTRA = '[quota]\nshare_networks = -1\n'

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.service.use_networks(_NETWORKS)
        cls.admin.ok(
            'POST',
            '/types',
            {
                'share_type': {
                    'name': 'served',
                    'extra_specs': {'driver_handles_share_servers': 'True', 'replication_type': 'readable'},
                }
            },
        )

    def make_network(self, subnet='four'):
        return self.admin.ok(
            'POST',
            '/share-networks',
            {'share_network': {'neutron_net_id': 'net', 'neutron_subnet_id': subnet}},
        )['share_network']['id']

    def test_replica_in_another_network_can_be_promoted(self):
        network, other = self.make_network(), self.make_network('other')
        share = self.make('served', share_network_id=network)
        replica = self.replicate(share, share_network_id=other)
        self.assertEqual(other, replica['share_network_id'])
        self.assertNotIn(replica['share_server_id'], (None, share['share_server_id']))
        [place] = self.admin.ok('GET', self.path(replica, '/export-locations'))['export_locations']
        self.assertIn('10.2.', place['path'])
        wanted = {'writable': False, 'nondisruptive': False, 'preserve_snapshots': True, 'host': 'test@alpha'}
        status, document, _ = self.admin.call(
            'POST', f'/share-servers/{replica["share_server_id"]}/action', {'migration_start': wanted}
        )
        self.assertEqual((409, True), (status, share['id'] in str(document)), document)
        self.assertEqual(409, self.admin.call('DELETE', f'/share-servers/{replica["share_server_id"]}')[0])
        self.assertEqual(409, self.admin.call('DELETE', f'/share-networks/{other}')[0])
        self.assertEqual(202, self.act(replica, 'promote'))
        self.assertEqual(replica['id'], self.active(share)['id'])
        self.assertEqual(
            (other, replica['share_server_id']),
            (self.shown(share)['share_network_id'], self.shown(share)['share_server_id']),
        )
        [place] = self.admin.ok('GET', f'/shares/{share["id"]}/export_locations')['export_locations']
        self.assertIn('10.2.', place['path'])
        self.drop(share)

    def test_replica_is_in_the_network_of_its_share_by_default(self):
        network = self.make_network()
        share = self.make('served', share_network_id=network)
        replica = self.replicate(share)
        self.assertEqual(network, replica['share_network_id'])
        self.drop(share)

    def test_server_counts_as_used_until_its_replica_is_deleted(self):
        share = self.make('served', share_network_id=self.make_network())
        replica = self.replicate(share)
        server = replica['share_server_id']
        with self.service.services.db.writer() as conn:
            table = models.share_servers
            conn.execute(
                table.update()
                .where(table.c.id == server)
                .values(updated_at=timeutils.utcnow() - datetime.timedelta(days=1))
            )
        self.admin.ok('DELETE', self.path(replica))
        with self.service.services.db.reader() as conn:
            self.assertNotIn(server, unused_share_servers.list_unused(conn, 'test@beta', 3600))
        self.drop(share)

    def test_replica_is_in_error_when_its_server_cannot_be_created(self):
        share = self.make('served', share_network_id=self.make_network())
        self.service.knob('beta', 'setup_server:fail_final')
        made = self.admin.ok(
            'POST',
            '/share-replicas',
            {'share_replica': {'share_id': share['id'], 'availability_zone': 'zone-b'}},
        )['share_replica']
        self.admin.wait(self.path(made), 'share_replica', 'error')
        self.drop(share)
