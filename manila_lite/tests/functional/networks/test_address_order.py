# SPDX-License-Identifier: Apache-2.0
"""Order of releases: an address is given back only after the backend has released it, so that no address is used twice."""

import types

from oslo_utils import uuidutils

from manila_lite import errors
from manila_lite.db.queries import allocations, share_network_subnets, share_servers
from manila_lite.drivers.dummy.store import ServerRecord
from manila_lite.manager.plans import allocated_addresses
from manila_lite.network import load
from manila_lite.network.interface import Address
from manila_lite.tests.functional import served
from manila_lite.tests.functional.networks.test_networks import NetworkTest

_BACKEND = (
    'driver_handles_share_servers = true\nbackend_availability_zone = here\n'
    'server_migration_driver_continue_update_interval = 0.1\n'
)


class Order(served.ServedTest):
    """Backends that fail to remove a share server: the server keeps its addresses and goes to error."""

    BACKENDS = {'alpha': _BACKEND, 'beta': _BACKEND}

    def addresses(self, server_id):
        with self.service.services.db.reader() as conn:
            return sorted(row.ip_address for row in allocations.of_server(conn, server_id))

    def server_of(self, network):
        """Create a share on alpha; return the share and the id of its share server."""
        share = self.admin.share(
            share_type='served', share_network_id=network, scheduler_hints={'only_host': 'test@alpha#pool1'}
        )
        return share, self.admin.ok('GET', f'/shares/{share["id"]}')['share']['share_server_id']

    def ends(self, server, status):
        self.admin.wait(f'/share-servers/{server}', 'share_server', status)

    def test_server_keeps_its_addresses_when_teardown_fails(self):
        share, server = self.server_of(self.network())
        self.admin.ok('DELETE', f'/shares/{share["id"]}')
        before = self.addresses(server)
        self.assertTrue(before)
        self.fault('teardown_server:fail_final')
        self.admin.ok('DELETE', f'/share-servers/{server}', wait=False)
        self.ends(server, 'error')
        self.assertEqual(before, self.addresses(server))
        self.fault('')
        self.admin.ok('DELETE', f'/share-servers/{server}')
        self.ends(server, 'gone')
        self.assertEqual([], self.addresses(server))

    def test_server_keeps_its_addresses_when_unmanage_fails(self):
        network, store, address = (
            self.network(),
            self.service.managers['alpha'].driver.store,
            self.unused_address(),
        )
        with store.locked():
            store.servers.put(ServerRecord('nas1', {'lan': [address]}, ours=False))
        server = self.admin.ok(
            'POST',
            '/share-servers/manage',
            {'share_server': {'host': 'test@alpha', 'share_network_id': network, 'identifier': 'nas1'}},
        )['share_server']['id']
        self.ends(server, 'active')
        self.assertEqual([address], self.addresses(server))
        self.fault('unmanage_server:fail_final')
        self.admin.ok('POST', f'/share-servers/{server}/action', {'unmanage': None})
        self.ends(server, 'unmanage_error')
        self.assertEqual([address], self.addresses(server))

    def test_migrated_server_keeps_its_addresses_when_source_teardown_fails(self):
        server = self.copied()
        before = self.addresses(server)
        self.fault('teardown_server:fail_final')
        self.admin.ok('POST', f'/share-servers/{server}/action', {'migration_complete': None})
        self.ends(server, 'error')
        self.assertEqual(before, self.addresses(server))

    def copied(self):
        """Create a share, and copy its share server to ``beta``, into another network; return the id of the server."""
        _, server = self.server_of(self.network())
        path = f'/share-servers/{server}'
        self.admin.ok(
            'POST',
            f'{path}/action',
            {
                'migration_start': {
                    'host': 'test@beta',
                    'writable': True,
                    'nondisruptive': False,
                    'preserve_snapshots': True,
                    'new_share_network_id': self.network('blue-small'),
                }
            },
        )
        self.admin.wait(path, 'share_server', 'migration_driver_phase1_done', field='task_state')
        return server

    def test_half_made_server_keeps_its_addresses_until_it_is_deleted(self):
        self.fault('')
        for knobs, kept in (((), False), (('teardown_server:fail_final',), True)):
            self.service.knob('alpha', 'setup_server:fail_final_after', *knobs)
            network = self.network()
            self.admin.share(
                wait='error',
                share_type='served',
                share_network_id=network,
                scheduler_hints={'only_host': 'test@alpha#pool1'},
            )
            [server] = self.servers(network)
            self.ends(server.id, 'error')
            self.assertEqual(kept, bool(self.addresses(server.id)))
            self.service.knob('alpha', '')
            self.admin.ok('DELETE', f'/share-servers/{server.id}')
            self.ends(server.id, 'gone')
            self.assertEqual([], self.addresses(server.id))
            self.assertIsNone(self.record(server.id))

    def test_target_whose_copy_could_not_be_deleted_keeps_its_addresses_until_it_is_deleted(self):
        server = self.copied()
        told = self.admin.ok('POST', f'/share-servers/{server}/action', {'migration_get_progress': None})
        target = told['destination_share_server_id']
        before = self.addresses(target)
        self.assertTrue(before)
        self.fault('share_server_migration_cancel:fail_final', 'beta')
        self.admin.ok('POST', f'/share-servers/{server}/action', {'migration_cancel': None})
        self.ends(target, 'error')
        self.assertEqual(before, self.addresses(target))
        self.fault('', 'beta')
        self.admin.ok('DELETE', f'/share-servers/{target}')
        self.ends(target, 'gone')
        self.assertEqual([], self.addresses(target))


class Plugin(NetworkTest):
    def test_address_release_is_retried_after_the_plugin_failed(self):
        """Check that allocations stay after a failure: otherwise nothing would show the addresses that the plugin holds."""
        network = self.network(
            self.caller(uuidutils.generate_uuid()), neutron_net_id='blue', neutron_subnet_id='blue-v4'
        )
        server = uuidutils.generate_uuid()
        with self.db.writer() as conn:
            (subnet,) = share_network_subnets.of_network(conn, network['id'])
            share_servers.insert(
                conn, {'id': server, 'share_network_id': network['id'], 'host': 'test@alpha'}, [subnet.id]
            )
        allocated_addresses.allocate(self.service.services, load.make(self.service.conf), server, subnet, 2)
        freed = []
        away = types.SimpleNamespace(free=self._refuse, forget=freed.append)
        self.assertRaises(errors.Unavailable, allocated_addresses.free, self.service.services, away, server)
        there = types.SimpleNamespace(free=freed.extend, forget=freed.append)
        allocated_addresses.free(self.service.services, there, server)
        self.assertEqual(2, sum(isinstance(one, Address) for one in freed))

    @staticmethod
    def _refuse(found):
        del found
        raise errors.Unavailable('The plugin is away.')
