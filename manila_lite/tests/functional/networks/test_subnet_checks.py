# SPDX-License-Identifier: Apache-2.0
"""The check before share servers in use get one more subnet: whatever can be known is known before anything changes."""

import concurrent.futures

import sqlalchemy as sa

from manila_lite.db import models
from manila_lite.db.queries import allocations
from manila_lite.tests.functional import base, served

_NETWORKS = """
networks:
- id: blue
  network_type: vlan
  segmentation_id: 7
  subnets:
  - {id: four, cidr: 10.1.0.0/24, gateway: 10.1.0.1}
  - {id: six, cidr: 'fd00:1::/64'}
  - {id: one-left, cidr: 10.3.0.0/30, gateway: 10.3.0.1}
- id: thin
  mtu: 900
  subnets:
  - {id: thin-six, cidr: 'fd00:2::/64'}
- id: far
  network_type: vlan
  segmentation_id: 5000
  subnets:
  - {id: far-four, cidr: 10.4.0.0/24}
"""
_CHECK = 'check_update_share_server_network_allocations'


class SubnetChecks(served.ServedTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.service.use_networks(_NETWORKS, name='own-networks.yaml')

    def used_network(self):
        """Return the id of a network with a share server."""
        network = self.network('four')
        self.share(network)
        return network

    def add(self, network, subnet, net='blue'):
        """Ask for one more subnet; return (status, the refusal or None)."""
        status, document, _ = self.user.call(
            'POST',
            f'/share-networks/{network}/subnets',
            {'share-network-subnet': {'neutron_net_id': net, 'neutron_subnet_id': subnet}},
        )
        return status, document.get('conflictingRequest')

    def check(self, network, subnet, net='blue'):
        """Ask whether the subnet can be added; return the answer."""
        return self.user.ok(
            'POST',
            f'/share-networks/{network}/action',
            {'share_network_subnet_create_check': {'neutron_net_id': net, 'neutron_subnet_id': subnet}},
        )['compatible']

    def is_refused(self, network, subnet, net, *words):
        """Check that both the check and the request say no, and that the server serves as before."""
        before = self.shown(network)
        base.eventually(lambda: self.check(network, subnet, net) is False, 'the check does not say no')
        status, refusal = self.add(network, subnet, net)
        self.assertEqual((409, 'subnet_denied'), (status, refusal and refusal['reason']), refusal)
        for word in words:
            self.assertIn(word, refusal['message'])
        self.assertEqual(before, self.shown(network))
        self.assertEqual(['active'], [server.status for server in self.servers(network)])

    def test_ipv6_subnet_with_a_small_mtu_is_refused(self):
        self.is_refused(self.used_network(), 'thin-six', 'thin', 'MTU of 900', '1280')

    def test_vlan_out_of_range_is_refused(self):
        self.is_refused(self.used_network(), 'far-four', 'far', '5000', 'between 1 and 4094')

    def test_full_subnet_is_refused(self):
        self.share(self.network('one-left'))
        self.is_refused(self.used_network(), 'one-left', 'blue', '0 addresses left, and 1 are needed')
        self.free_one_left()

    def test_last_address_is_given_to_one_of_two_networks(self):
        """Both backends say yes; the addresses are reserved with the answer, so the second request is refused."""
        pair = [self.used_network() for _ in range(2)]
        self.fault(f'{_CHECK}:delay=1')
        with concurrent.futures.ThreadPoolExecutor(2) as executor:
            answers = list(executor.map(lambda network: self.add(network, 'one-left'), pair))
        self.assertEqual([200, 409], sorted(status for status, _ in answers), answers)
        [refusal] = [refusal for _, refusal in answers if refusal]
        self.assertIn('0 addresses left, and 1 are needed', refusal['message'])
        for network in pair:
            self.settled(network)
            self.assertEqual(['active'], [server.status for server in self.servers(network)])
        self.free_one_left()

    def test_addresses_are_reserved_before_the_backend_begins(self):
        network = self.used_network()
        claims = self.service.managers['alpha'].driver.ALLOCATIONS_PER_SUBNET
        engine, stored = self.service.services.db.engine, []

        def listen(conn, cursor, statement, *_):
            if statement.startswith(('INSERT INTO network_allocations', 'INSERT INTO share_network_subnets')):
                stored.append((conn.connection.dbapi_connection, statement.split()[2]))

        sa.event.listen(engine, 'before_cursor_execute', listen)
        try:
            self.assertEqual(200, self.add(network, 'six')[0])
            self.settled(network)
        finally:
            sa.event.remove(engine, 'before_cursor_execute', listen)
        self.assertEqual(['share_network_subnets', 'network_allocations'], [table for _, table in stored])
        self.assertEqual(1, len({wire for wire, _ in stored}))
        with self.service.services.db.reader() as conn:
            table = models.network_allocations
            self.assertEqual(
                claims,
                conn.execute(
                    sa.select(sa.func.count())
                    .select_from(table)
                    .where(
                        table.c.share_server_id == self.servers(network)[0].id,
                        table.c.neutron_subnet_id == 'six',
                    )
                ).scalar(),
            )

    def test_request_is_refused_if_others_take_the_free_addresses_each_time(self):
        network = self.used_network()
        self.patch(allocations, 'store', lambda conn, rows: False)
        status, refusal = self.add(network, 'six')
        self.assertEqual((409, 'changed_meanwhile'), (status, refusal['reason']), refusal)
        self.assertIn('other requests took the free addresses of six', refusal['message'])
        self.assertEqual('active', self.shown(network)['status'])
        self.assertEqual(1, len(self.shown(network)['share_network_subnets']))

    def free_one_left(self):
        """Remove all servers with an address in the subnet that has one, for the next test."""
        with self.service.services.db.writer() as conn:
            table = models.network_allocations
            conn.execute(table.delete().where(table.c.neutron_subnet_id == 'one-left'))

    def test_driver_gets_snapshots_and_pools(self):
        self.admin.ok(
            'POST',
            '/types',
            {
                'share_type': {
                    'name': 'with-snapshots',
                    'extra_specs': {'driver_handles_share_servers': 'True', 'snapshot_support': 'True'},
                }
            },
        )
        network = self.network('four')
        share = self.user.share(share_type='with-snapshots', share_network_id=network)
        snapshot = self.user.ok('POST', '/snapshots', {'snapshot': {'share_id': share['id']}})['snapshot'][
            'id'
        ]
        self.user.wait(f'/snapshots/{snapshot}', 'snapshot', 'available')
        driver = self.service.managers['alpha'].driver
        plain, told = getattr(driver, _CHECK), []
        self.patch(driver, _CHECK, lambda *args: told.append(args) or plain(*args))
        self.assertEqual(200, self.add(network, 'six')[0])
        [(_, _, targets, snapshots)] = told
        pool = self.admin.ok('GET', f'/shares/{share["id"]}')['share']['host'].partition('#')[2]
        self.assertEqual(
            [(snapshot, share['id'], pool)],
            [(one.id, one.share.share_id, one.share.pool) for one in snapshots],
        )
        self.assertEqual([pool], [target.share.pool for target in targets])
        self.settled(network)
