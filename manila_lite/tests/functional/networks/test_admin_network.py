# SPDX-License-Identifier: Apache-2.0
"""Share servers with additional addresses in an administrators' network: number, export locations, release."""

import sqlalchemy as sa

from manila_lite import errors
from manila_lite.cmd import settings
from manila_lite.db import models
from manila_lite.db.queries import allocations
from manila_lite.manager.plans import share_server_upkeep
from manila_lite.manager.runtime import service
from manila_lite.tests.dummy_reboot import lose_exports
from manila_lite.tests.functional import base, served

_BACKEND = (
    'driver_handles_share_servers = true\ndummy_allocations_per_subnet = 2\ndummy_admin_allocations = 3\n'
    'admin_network_id = management\n'
)
_ADMINS = """
networks:
- id: management
  network_type: flat
  subnets:
  - {id: wide, cidr: 172.16.0.0/24}
  - {id: tiny, cidr: 172.17.0.0/30}
"""


class AdminNetwork(served.ServedTest):
    """The administrators' networks are in a file of their own; users cannot see them."""

    BACKENDS = {
        'alpha': f'{_BACKEND}admin_network_config_group = administrators\nadmin_subnet_id = wide\n',
        'beta': f'{_BACKEND}admin_network_config_group = administrators\nadmin_subnet_id = tiny\n'
        'share_backend_name = small\n',
    }
    EXTRA = '[administrators]\nplugin = standalone\n'

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.service.use_networks(_ADMINS, 'administrators', 'administrators.yaml')
        for name, backend in (('wide', 'alpha'), ('small', 'small')):
            cls.admin.ok(
                'POST',
                '/types',
                {
                    'share_type': {
                        'name': name,
                        'extra_specs': {
                            'driver_handles_share_servers': 'True',
                            'share_backend_name': backend,
                        },
                    }
                },
            )

    def share(self, network, kind='wide', **more):
        return self.user.share(share_type=kind, share_network_id=network, **more)

    def addresses(self, server_id):
        """Return the number of the server's allocations in the database, by subnet of the network plugin."""
        table = models.network_allocations
        with self.service.services.db.reader() as conn:
            return dict(
                conn.execute(
                    sa.select(table.c.neutron_subnet_id, sa.func.count())
                    .where(table.c.share_server_id == server_id)
                    .group_by(table.c.neutron_subnet_id)
                ).all()
            )

    def at_backend(self, server_id):
        return sorted(len(found) for found in self.record(server_id).addresses.values())

    def paths(self, share, caller):
        found = caller.ok('GET', f'/shares/{share["id"]}/export_locations')['export_locations']
        return sorted(
            (location.get('is_admin_only', False), location['path'].partition(':/')[0]) for location in found
        )

    def test_server_gets_the_configured_addresses_per_subnet_and_for_admins(self):
        network = self.network()
        share = self.share(network)
        [server] = self.servers(network)
        self.assertEqual({'blue-v4': 2, 'wide': 3}, self.addresses(server.id))
        self.assertEqual([2, 3], self.at_backend(server.id))
        status, document, _ = self.user.call(
            'POST',
            f'/share-networks/{network}/subnets',
            {'share-network-subnet': {'neutron_net_id': 'blue', 'neutron_subnet_id': 'blue-v6'}},
        )
        self.assertEqual(200, status, document)
        self.settled(network)
        self.assertEqual({'blue-v4': 2, 'blue-v6': 2, 'wide': 3}, self.addresses(server.id))
        self.assertEqual([2, 2, 3], self.at_backend(server.id))
        self.assertEqual(7, len(self.paths(share, self.admin)))

    def test_export_locations_at_admin_addresses_are_admin_only(self):
        network = self.network()
        share = self.share(network)
        [server] = self.servers(network)
        every = self.paths(share, self.admin)
        self.assertEqual([False] * 2 + [True] * 3, [admin for admin, _ in every])
        with self.service.services.db.reader() as conn:
            theirs = allocations.of_server(conn, server.id, allocations.ADMIN)
        self.assertEqual({'admin'}, {row.label for row in theirs})
        self.assertEqual({row.ip_address for row in theirs}, {path for admin, path in every if admin})
        self.assertEqual(
            [path for admin, path in every if not admin], [path for _, path in self.paths(share, self.user)]
        )

    def test_admin_addresses_are_freed_with_the_server(self):
        network = self.network()
        share = self.share(network)
        [server] = self.servers(network)
        self.user.ok('DELETE', f'/shares/{share["id"]}')
        self.admin.ok('DELETE', f'/share-servers/{server.id}')
        base.eventually(lambda: not self.servers(network), 'the server stays')
        self.assertEqual({}, self.addresses(server.id))

    def test_admin_addresses_are_restored_after_a_restart(self):
        network = self.network()
        self.share(network)
        [server] = self.servers(network)
        before = self.record(server.id).addresses
        manager = self.service.managers['alpha']
        lose_exports(manager.driver)
        self.assertFalse(self.record(server.id).running)
        self.assertEqual({}, share_server_upkeep.restore(manager))
        self.assertEqual((True, before), (self.record(server.id).running, self.record(server.id).addresses))

    def test_server_creation_fails_when_admin_addresses_run_out(self):
        """Check that the server is not created and keeps none of its addresses."""
        network = self.network()
        share = self.share(network, kind='small', wait='error')
        [server] = self.servers(network)
        self.assertEqual('error', server.status)
        self.assertEqual({}, self.addresses(server.id))
        self.assertIn('033', [told['detail_id'] for told in self.messages(share['id'])])
        self.assertIsNone(self.record(server.id, 'beta'))

    def test_users_cannot_use_the_admin_network(self):
        status, document, _ = self.user.call(
            'POST',
            '/share-networks',
            {'share_network': {'neutron_net_id': 'management', 'neutron_subnet_id': 'wide'}},
        )
        self.assertEqual(400, status, document)

    def refused(self, group, option, value, *words):
        """Check that the service refuses to start with this option, with a message that has these words."""
        self.service.conf.set_override(option, value, group)
        try:
            said = str(self.assertRaises(errors.BadConfig, service.check, self.service.conf))
        finally:
            self.service.conf.clear_override(option, group)
        for word in words:
            self.assertIn(word, said)

    def test_configuration_section_of_the_admin_network_is_recognized(self):
        self.assertEqual(
            [],
            [
                str(doubt)
                for doubt in settings.find_doubtful(self.service.conf)
                if doubt.group == 'administrators'
            ],
        )

    def test_service_refuses_to_start_with_wrong_admin_network_options(self):
        service.check(self.service.conf)
        self.refused('alpha', 'admin_subnet_id', '', '[alpha] admin_subnet_id', '3 addresses')
        self.refused('beta', 'admin_network_id', None, '[beta] admin_network_id')
        self.refused('administrators', 'plugin', 'nonesuch', '[administrators] plugin', 'nonesuch')
