# SPDX-License-Identifier: Apache-2.0
"""Share servers with addresses in the network of administrators: managed, unmanaged, moved, and in the way of a deletion."""

import sqlalchemy as sa

from manila_lite.db import models
from manila_lite.db.queries import allocations
from manila_lite.drivers.dummy.store import ServerRecord
from manila_lite.manager.plans import share_server_upkeep
from manila_lite.tests.dummy_reboot import lose_exports
from manila_lite.tests.functional import base, served

_BACKEND = (
    'driver_handles_share_servers = true\nbackend_availability_zone = {0}\nshare_backend_name = {0}\n'
    'dummy_admin_allocations = 1\nadmin_network_id = management\nadmin_subnet_id = {0}\n'
    'admin_network_config_group = administrators\nserver_migration_driver_continue_update_interval = 0.1\n'
)
#: The addresses from which none is drawn are for servers that others made.
_ADMINS = """
networks:
- id: management
  network_type: flat
  subnets:
  - {id: here, cidr: 172.16.0.0/24, ranges: [[172.16.0.2, 172.16.0.99]]}
  - {id: there, cidr: 172.17.0.0/24}
"""


class AdministeredTest(served.ServedTest):
    """Two backends, each with a network of administrators of its own at a plugin of their own."""

    BACKENDS = {
        'alpha': _BACKEND.format('here'),
        'beta': _BACKEND.format('there'),
        'plain': 'driver_handles_share_servers = true\nbackend_availability_zone = nowhere\n',
    }
    EXTRA = '[administrators]\nplugin = standalone\n[quota]\nshare_networks = -1\n'

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.service.use_networks(_ADMINS, 'administrators', 'administrators.yaml')

    def setUp(self):
        super().setUp()
        self.network_id = self.network()

    def made(self, zone='here'):
        """Create a share at the backend of the zone; return the share and its server."""
        share = self.share(self.network_id, availability_zone=zone)
        [server] = self.servers(self.network_id)
        return share, server

    def there(self, name, *addresses, backend='alpha'):
        """Add a server at the backend that is not managed; return its name."""
        store = self.service.managers[backend].driver.store
        with store.locked():
            store.servers.put(ServerRecord(name, {'lan': list(addresses)}, ours=False))
        return name

    def managed(self, identifier, status='active', host='test@alpha', **how):
        """Manage a server; return its id when it has this status."""
        server = self.admin.ok(
            'POST',
            '/share-servers/manage',
            {
                'share_server': {
                    'host': host,
                    'share_network_id': self.network_id,
                    'identifier': identifier,
                    **how,
                }
            },
        )['share_server']['id']
        self.ends(server, status)
        return server

    def unmanage(self, server):
        self.admin.ok('POST', f'/share-servers/{server}/action', {'unmanage': None})
        self.ends(server, 'gone')

    def ends(self, server, status):
        self.admin.wait(f'/share-servers/{server}', 'share_server', status)

    def addresses(self, server):
        """Return the server's addresses in its share network, and those for administrators."""
        with self.service.services.db.reader() as conn:
            return [
                [row.ip_address for row in allocations.of_server(conn, server, place)]
                for place in (None, allocations.ADMIN)
            ]

    def paths(self, share):
        """Return the addresses at which administrators find the share, and the others."""
        found = self.admin.ok('GET', f'/shares/{share["id"]}/export_locations')['export_locations']
        return [
            [row['path'].partition(':')[0] for row in found if row['is_admin_only'] is only]
            for only in (False, True)
        ]


class Managed(AdministeredTest):
    def test_49_7_server_keeps_its_addresses_when_it_is_unmanaged_and_managed_again(self):
        share, made = self.made()
        before = self.addresses(made.id)
        self.assertEqual([1, 1], [len(some) for some in before])
        self.user.ok('DELETE', f'/shares/{share["id"]}')
        self.unmanage(made.id)
        self.assertEqual([[], []], self.addresses(made.id))
        server = self.managed(made.id)
        self.assertEqual(before, self.addresses(server))
        self.assertEqual(before[1], self.record(server).addresses[''])
        share = self.share(self.network_id, availability_zone='here')
        self.assertEqual(before, self.paths(share))
        self.user.ok('DELETE', f'/shares/{share["id"]}')
        self.admin.ok('DELETE', f'/share-servers/{server}')
        self.ends(server, 'gone')
        self.assertEqual([[], []], self.addresses(server))
        self.user.ok('DELETE', f'/share-networks/{self.network_id}')

    def test_49_7_addresses_of_a_managed_server_are_kept_from_others(self):
        server = self.managed(self.there('nas-1', '10.10.0.20', '172.16.0.201'))
        self.assertEqual([['10.10.0.20'], ['172.16.0.201']], self.addresses(server))
        with self.service.services.db.reader() as conn:
            [row] = conn.execute(
                sa.select(models.network_allocations).where(
                    models.network_allocations.c.ip_address == '172.16.0.201'
                )
            ).all()
        self.assertEqual(
            ('here', 'admin', None), (row.neutron_subnet_id, row.label, row.share_network_subnet_id)
        )
        other = self.managed(self.there('nas-2', '10.10.0.21', '172.16.0.201'), 'manage_error')
        self.assertEqual([[], []], self.addresses(other), 'a server that could not be managed has an address')
        self.unmanage(other)
        self.unmanage(server)
        self.managed('nas-2')

    def test_49_7_managed_server_keeps_its_addresses_after_a_restart_and_in_one_more_subnet(self):
        server = self.managed(self.there('nas-3', '10.10.0.30', '172.16.0.203'))
        manager = self.service.managers['alpha']
        lose_exports(manager.driver)
        self.assertEqual({}, share_server_upkeep.restore(manager))
        self.assertEqual(
            (True, ['172.16.0.203']), (self.record(server).running, self.record(server).addresses[''])
        )
        status, document, _ = self.user.call(
            'POST',
            f'/share-networks/{self.network_id}/subnets',
            {'share-network-subnet': {'neutron_net_id': 'blue', 'neutron_subnet_id': 'blue-v6'}},
        )
        self.assertEqual(200, status, document)
        self.settled(self.network_id)
        users, admins = self.addresses(server)
        self.assertEqual((2, ['172.16.0.203']), (len(users), admins))
        self.assertEqual(['172.16.0.203'], self.record(server).addresses[''])

    def test_49_7_server_without_an_address_for_administrators_is_managed_without_one(self):
        """Check it: servers that are older than the network have none either."""
        self.assertEqual(
            [['10.10.0.40'], []], self.addresses(self.managed(self.there('nas-4', '10.10.0.40')))
        )


class Obstacles(AdministeredTest):
    def refused(self, caller, *words):
        """Check that the caller cannot delete the network; return the refusal."""
        status, document, _ = caller.call('DELETE', f'/share-networks/{self.network_id}')
        self.assertEqual((409, 'share_network_in_use'), (status, document['conflictingRequest']['reason']))
        for word in words:
            self.assertIn(word, document['conflictingRequest']['message'])
        return document['conflictingRequest']['message']

    def test_49_7_failed_manage_says_why_and_what_to_do(self):
        """Check the message about the server and the refusal to delete its network, and do what this says."""
        server = self.managed(self.there('nas-5', '10.10.0.50', '192.0.2.7'), 'manage_error')
        [told] = self.admin.ok('GET', f'/messages?resource_id={server}')['messages']
        why = (
            'The share server has the addresses 192.0.2.7, which are not in subnet ',
            ', nor in the network of administrators (172.16.0.0/24).',
        )
        for word in why:
            self.assertIn(word, told['user_message'])
        advice = f'An administrator removes its record with openstack share server abandon {server}.'
        self.refused(self.admin, server, 'manage_error', 'It could not be managed: ', *why, advice)
        self.assertNotIn(
            '192.0.2.7', self.refused(self.user, server, 'manage_error', 'It could not be managed.', advice)
        )
        self.unmanage(server)
        self.user.ok('DELETE', f'/share-networks/{self.network_id}')

    def test_49_7_failed_manage_names_the_option_that_is_missing(self):
        server = self.managed(
            self.there('nas-6', '10.10.0.60', '172.16.0.7', backend='plain'),
            'manage_error',
            host='test@plain',
        )
        self.refused(
            self.admin,
            '172.16.0.7, which are not in subnet ',
            'no network of administrators (admin_network_id)',
        )
        self.unmanage(server)

    def test_49_7_unmanaged_by_force_is_said_where_it_failed(self):
        server = self.managed(self.there('nas-7', '10.10.0.70', '172.16.0.207'))
        self.fault('unmanage_server:fail_final')
        self.admin.ok('POST', f'/share-servers/{server}/action', {'unmanage': None})
        self.ends(server, 'unmanage_error')
        self.refused(
            self.admin, 'It could not be unmanaged: ', f'openstack share server abandon --force {server}.'
        )
        self.admin.ok('POST', f'/share-servers/{server}/action', {'unmanage': {'force': True}})
        self.ends(server, 'gone')
        self.assertEqual([[], []], self.addresses(server))


class Moved(AdministeredTest):
    """Servers keep their addresses in the share network, and get others in the admin network of the other backend."""

    def setUp(self):
        super().setUp()
        self.shared, self.source = self.made()
        self.before = self.addresses(self.source.id)
        with self.service.services.db.reader() as conn:
            self.at_beta = allocations.used_addresses(conn, 'there')

    def starts(self, **more):
        self.admin.ok(
            'POST',
            f'/share-servers/{self.source.id}/action',
            {
                'migration_start': {
                    'host': 'test@beta',
                    'writable': True,
                    'nondisruptive': False,
                    'preserve_snapshots': True,
                    **more,
                }
            },
        )
        base.eventually(
            lambda: self.shown_server()['task_state'] == 'migration_driver_phase1_done',
            'the first phase goes on',
        )

    def shown_server(self):
        return self.admin.ok('GET', f'/share-servers/{self.source.id}')['share_server']

    def ended(self, network):
        """Complete the move. Return the addresses of the target, after a look at the backend and the export locations."""
        self.admin.ok('POST', f'/share-servers/{self.source.id}/action', {'migration_complete': None})
        self.admin.wait(f'/shares/{self.shared["id"]}', 'share', 'available')
        self.ends(self.source.id, 'gone')
        [target] = self.servers(network)
        users, admins = self.addresses(target.id)
        self.assertEqual((1, True), (len(admins), admins[0].startswith('172.17.0.')))
        self.assertEqual(admins, self.record(target.id, 'beta').addresses[''])
        self.assertEqual([users, admins], self.paths(self.shared))
        self.assertEqual([[], []], self.addresses(self.source.id))
        return users

    def test_49_7_moved_server_gets_an_address_in_the_admin_network_of_its_new_backend(self):
        self.starts(nondisruptive=True)
        self.assertEqual(self.before[0], self.ended(self.network_id))

    def test_49_7_server_that_moves_to_another_share_network_gets_an_admin_address(self):
        network = self.network('blue-small')
        self.starts(new_share_network_id=network)
        self.assertNotEqual(self.before[0], self.ended(network))

    def test_49_7_cancelled_move_leaves_no_admin_address(self):
        self.starts()
        self.admin.ok('POST', f'/share-servers/{self.source.id}/action', {'migration_cancel': None})
        self.ends(self.source.id, 'active')
        base.eventually(lambda: len(self.servers(self.network_id)) == 1, 'the target stays')
        self.assertEqual(self.before, self.addresses(self.source.id))
        with self.service.services.db.reader() as conn:
            self.assertEqual(self.at_beta, allocations.used_addresses(conn, 'there'))
