# SPDX-License-Identifier: Apache-2.0
"""Share servers: made for the shares of a network, used by several, and deleted when unused."""

import concurrent.futures
import types

from manila_lite.db import models
from manila_lite.db.queries import allocations, operations, share_servers
from manila_lite.manager.plans import share_server_upkeep
from manila_lite.tests.functional import base

_NETWORKS = """
networks:
- id: net-a
  network_type: vlan
  segmentation_id: 100
  subnets:
  - {id: four, cidr: 10.1.0.0/24, gateway: 10.1.0.1}
  - {id: six, cidr: 'fd00:1::/64'}
"""


class Servers(base.ServiceTest):
    """One backend that makes share servers, for at most two shares each."""

    BACKENDS = {'alpha': 'driver_handles_share_servers = true\nmax_shares_per_share_server = 2\n'}

    def setUp(self):
        super().setUp()
        (self.service.state / 'networks.yaml').write_text(_NETWORKS)
        self.service.conf.set_override(
            'file', str(self.service.state / 'networks.yaml'), 'standalone_network'
        )
        self.addCleanup(self.service.conf.clear_override, 'unused_share_server_cleanup_interval')
        if 'served' not in {kind['name'] for kind in self.admin.ok('GET', '/types')['share_types']}:
            self.admin.ok(
                'POST',
                '/types',
                {'share_type': {'name': 'served', 'extra_specs': {'driver_handles_share_servers': 'True'}}},
            )
        self.network = types.SimpleNamespace(
            **self.caller('p').ok(
                'POST',
                '/share-networks',
                {'share_network': {'neutron_net_id': 'net-a', 'neutron_subnet_id': 'four'}},
            )['share_network']
        )

    def servers(self):
        with self.service.services.db.reader() as conn:
            return share_servers.list_servers(conn, {'share_network_id': self.network.id})

    def test_server_takes_shares_up_to_its_limit_and_is_deleted_when_unused(self):
        shares = [
            self.admin.share(share_type='served', share_network_id=self.network.id, wait=None)
            for _ in range(3)
        ]
        for share in shares:
            self.admin.wait(f'/shares/{share["id"]}', 'share', 'available')
        found = self.servers()
        self.assertEqual(2, len(found))
        self.assertEqual({'active'}, {server.status for server in found})
        exports = self.admin.ok('GET', f'/shares/{shares[0]["id"]}/export_locations')['export_locations']
        self.assertIn('10.1.0.', exports[0]['path'])
        self.remove(*shares)
        self.service.conf.set_override('unused_share_server_cleanup_interval', 0)
        share_server_upkeep.remove_unused(self.service.managers['alpha'])
        base.eventually(lambda: not self.servers(), 'a server stays')
        self.nothing_is_left_of(found)

    def remove(self, *shares):
        for share in shares:
            self.admin.ok('DELETE', f'/shares/{share["id"]}')
        for share in shares:
            self.admin.wait(f'/shares/{share["id"]}', 'share', 'gone')

    def nothing_is_left_of(self, found):
        store = self.service.managers['alpha'].driver.store
        with self.service.services.db.reader() as conn:
            for server in found:
                self.assertEqual([], allocations.of_server(conn, server.id))
                self.assertIsNone(store.servers.get(server.id))

    def test_unused_servers_are_deleted_with_their_network(self):
        share = self.admin.share(share_type='served', share_network_id=self.network.id)
        path = f'/share-networks/{self.network.id}'
        self.assertEqual(409, self.admin.call('DELETE', path)[0])
        self.remove(share)
        found = self.servers()
        self.admin.ok('DELETE', path)
        self.assertEqual(404, self.admin.call('GET', path)[0])
        base.eventually(lambda: not self.servers(), 'a server stays')
        self.nothing_is_left_of(found)
        table = models.share_networks
        with self.service.services.db.reader() as conn:
            self.assertIsNone(
                conn.execute(table.select().where(table.c.id == self.network.id)).first(), 'its row stays'
            )

    def test_unused_servers_are_deleted_with_a_subnet(self):
        """Delete both subnets of an unused server, one after the other: the first one takes the server with it."""
        self.assertEqual(200, self.subnet(neutron_subnet_id='six')[0])
        share = self.admin.share(share_type='served', share_network_id=self.network.id)
        path = f'/share-networks/{self.network.id}/subnets'
        subnets = [row['id'] for row in self.admin.ok('GET', path)['share_network_subnets']]
        self.assertEqual(409, self.admin.call('DELETE', f'{path}/{subnets[0]}')[0])
        self.remove(share)
        found = self.servers()
        for number, subnet in enumerate(subnets, 1):
            self.admin.ok('DELETE', f'{path}/{subnet}')
            self.assertEqual(
                subnets[number:], [row['id'] for row in self.admin.ok('GET', path)['share_network_subnets']]
            )
        base.eventually(lambda: not self.servers(), 'a server stays')
        self.nothing_is_left_of(found)
        table = models.share_network_subnets
        with self.service.services.db.reader() as conn:
            self.assertIsNone(
                conn.execute(table.select().where(table.c.share_network_id == self.network.id)).first()
            )

    def test_server_with_shares_cannot_be_deleted(self):
        self.admin.share(share_type='served', share_network_id=self.network.id)
        [server] = self.servers()
        self.assertEqual(409, self.admin.call('DELETE', f'/share-servers/{server.id}')[0])
        self.assertEqual(
            403, self.caller('p', roles='member').call('DELETE', f'/share-servers/{server.id}')[0]
        )

    def test_share_with_an_unsuitable_type_or_network_is_refused(self):
        body = {'size': 1, 'share_proto': 'NFS'}
        for more, status in (
            ({'share_type': 'served'}, 400),
            ({'share_type': 'served', 'share_network_id': self.service.state.name}, 404),
            ({'share_type': 'default', 'share_network_id': self.network.id}, 400),
        ):
            found, document, _ = self.admin.call('POST', '/shares', {'share': {**body, **more}})
            self.assertEqual(status, found, document)

    def subnet(self, **wanted):
        body = {'share-network-subnet': {'neutron_net_id': 'net-a', **wanted}}
        return self.caller('p').call('POST', f'/share-networks/{self.network.id}/subnets', body)

    def network_is(self, status):
        self.admin.wait(f'/share-networks/{self.network.id}', 'share_network', status)

    def test_a_subnet_is_added_to_a_server_in_use(self):
        share = self.admin.share(share_type='served', share_network_id=self.network.id)
        status, document, _ = self.subnet(neutron_subnet_id='six')
        self.assertEqual(200, status, document)
        self.network_is('active')
        self.assertEqual({'active'}, {server.status for server in self.servers()})
        paths = [
            found['path']
            for found in self.admin.ok('GET', f'/shares/{share["id"]}/export_locations')['export_locations']
        ]
        self.assertEqual(2, len(paths), paths)
        self.assertIn('[fd00:1::', paths[1])

    def test_subnet_denied_by_the_backend_is_refused(self):
        self.admin.share(share_type='served', share_network_id=self.network.id)
        self.service.knob('alpha', 'check_update_share_server_network_allocations:deny')
        self.addCleanup(self.service.knob, 'alpha', '')
        status, document, _ = self.subnet(neutron_subnet_id='six')
        self.assertEqual(409, status, document)
        self.network_is('active')
        self.assertEqual(
            1,
            len(self.admin.ok('GET', f'/share-networks/{self.network.id}/subnets')['share_network_subnets']),
        )

    def test_check_of_a_subnet_returns_the_answer_of_each_backend(self):
        self.admin.share(share_type='served', share_network_id=self.network.id)
        body = {'share_network_subnet_create_check': {'neutron_net_id': 'net-a', 'neutron_subnet_id': 'six'}}
        path = f'/share-networks/{self.network.id}/action'
        self.assertEqual(202, self.admin.call('POST', path, body)[0])
        base.eventually(lambda: self.admin.ok('POST', path, body)['compatible'] is True, 'no answer')
        self.assertEqual({'test@alpha': True}, self.admin.ok('POST', path, body)['hosts_check_result'])

    def test_concurrent_checks_ask_the_backend_once(self):
        self.admin.share(share_type='served', share_network_id=self.network.id)
        self.service.knob('alpha', 'check_update_share_server_network_allocations:delay=0.5')
        self.addCleanup(self.service.knob, 'alpha', '')
        body = {'share_network_subnet_create_check': {'neutron_net_id': 'net-a', 'neutron_subnet_id': 'six'}}
        with concurrent.futures.ThreadPoolExecutor(6) as executor:
            answers = list(
                executor.map(
                    lambda _: self.caller('p').call(
                        'POST', f'/share-networks/{self.network.id}/action', body
                    )[0],
                    range(6),
                )
            )
        self.assertEqual([202] * 6, answers)
        with self.service.services.db.reader() as conn:
            self.assertEqual(1, len(operations.list_of_resource(conn, self.network.id, 'subnet.check')))
