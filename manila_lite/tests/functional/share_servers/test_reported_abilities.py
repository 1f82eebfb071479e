# SPDX-License-Identifier: Apache-2.0
"""Abilities of share servers: those that their backend reported, whatever the class of its driver could do."""

from oslo_utils import timeutils

from manila_lite.db import models
from manila_lite.db.queries import share_server_capabilities
from manila_lite.drivers.dummy.store import ServerRecord
from manila_lite.tests.functional import served

_NONE = ','.join(f'{name}:false' for name in share_server_capabilities.NAMES)
_MAKES = 'driver_handles_share_servers = true\nbackend_availability_zone = {}\n'
_SHOWN = (
    'network_allocation_update_support',
    'security_service_update_support',
    'share_replicas_migration_support',
)


class Reported(served.ServedTest):
    BACKENDS = {
        'alpha': _MAKES.format('here') + f'dummy_capabilities = {_NONE}\n',
        'beta': _MAKES.format('there'),
    }

    def abilities(self, network, host):
        """Return the abilities of the network's server on that backend."""
        [row] = [row for row in self.servers(network) if row.host == host and row.status == 'active']
        shown = self.admin.ok('GET', f'/share-servers/{row.id}')['share_server']
        self.assertEqual(
            {name: getattr(row, name) for name in _SHOWN if name in shown},
            {name: shown[name] for name in _SHOWN if name in shown},
        )
        return {getattr(row, name) for name in share_server_capabilities.NAMES}

    def refused(self, network):
        """Check that a second subnet and another security service are refused at the request."""
        status, document, _ = self.user.call(
            'POST',
            f'/share-networks/{network}/subnets',
            {'share-network-subnet': {'neutron_net_id': 'blue', 'neutron_subnet_id': 'blue-v6'}},
        )
        self.assertEqual(
            (409, 'servers_in_use'), (status, document['conflictingRequest']['reason']), document
        )
        self.assertIn(
            'it has no network_allocation_update_support', document['conflictingRequest']['message']
        )

    def test_49_10_a_new_server_has_what_its_backend_reported(self):
        network = self.network()
        self.share(network, availability_zone='here')
        self.assertEqual({False}, self.abilities(network, 'test@alpha'))
        self.refused(network)
        self.share(network, availability_zone='there')
        self.assertEqual({True}, self.abilities(network, 'test@beta'))

    def test_49_10_a_managed_server_has_what_its_backend_reported(self):
        network = self.network('blue-small')  # no other test here has an address in it
        store = self.service.managers['alpha'].driver.store
        with store.locked():
            store.servers.put(ServerRecord('nas1', {'lan': ['10.10.1.5']}, ours=False))
        made = self.admin.ok(
            'POST',
            '/share-servers/manage',
            {'share_server': {'host': 'test@alpha', 'share_network_id': network, 'identifier': 'nas1'}},
        )['share_server']['id']
        self.admin.wait(f'/share-servers/{made}', 'share_server', 'active')
        self.assertEqual({False}, self.abilities(network, 'test@alpha'))

    def test_49_10_a_moved_server_has_what_its_new_backend_reported(self):
        network = self.network()
        self.share(network, availability_zone='there')
        [source] = self.servers(network)
        act = f'/share-servers/{source.id}/action'
        self.admin.ok(
            'POST',
            act,
            {
                'migration_start': {
                    'host': 'test@alpha',
                    'writable': True,
                    'nondisruptive': False,
                    'preserve_snapshots': True,
                }
            },
        )
        self.admin.wait(
            f'/share-servers/{source.id}', 'share_server', 'migration_driver_phase1_done', field='task_state'
        )
        target = self.admin.ok('POST', act, {'migration_complete': None})['destination_share_server_id']
        self.admin.wait(f'/share-servers/{target}', 'share_server', 'active')
        self.assertEqual({False}, self.abilities(network, 'test@alpha'))

    def test_49_10_a_server_of_several_pools_has_what_all_of_them_reported(self):
        name = share_server_capabilities.NAMES[0]
        figures = {
            'backend_host': 'test@other',
            'total_gb': 1,
            'free_gb': 1,
            'reported_at': timeutils.utcnow(),
        }
        with self.service.services.db.writer() as conn:
            for number in (1, 2):
                conn.execute(
                    models.pools.insert().values(
                        host=f'test@other#{number}', capabilities={name: number == 1}, **figures
                    )
                )
            self.assertFalse(share_server_capabilities.reported(conn, 'test@other')[name])
            conn.execute(models.pools.delete().where(models.pools.c.host == 'test@other#2'))
            self.assertTrue(share_server_capabilities.reported(conn, 'test@other')[name])
            conn.execute(models.pools.delete().where(models.pools.c.backend_host == 'test@other'))
            self.assertFalse(share_server_capabilities.reported(conn, 'test@other')[name])
