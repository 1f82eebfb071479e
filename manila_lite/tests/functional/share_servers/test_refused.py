# SPDX-License-Identifier: Apache-2.0
"""Refused changes of share networks in use and of their servers, which leave everything as it was.

Rule: after each of these tests every address belongs to a server that is there, at the database and at the backend.
"""

import contextlib
import datetime

import sqlalchemy as sa
from oslo_utils import timeutils

from manila_lite.db import models
from manila_lite.db.queries import services as service_rows
from manila_lite.tests.functional import base

_NETWORKS = """
networks:
- id: blue
  network_type: vlan
  segmentation_id: 7
  subnets:
  - {id: four, cidr: 10.1.0.0/24, gateway: 10.1.0.1}
  - {id: six, cidr: 'fd00:1::/64'}
  - {id: tiny, cidr: 10.2.0.0/30, gateway: 10.2.0.1}
  - {id: small, cidr: 10.3.0.0/30, gateway: 10.3.0.1}
- id: green
  network_type: flat
  subnets:
  - {id: inside, cidr: 10.1.0.128/25}
- id: red
  network_type: flat
  projects: [somebody-else]
  subnets:
  - {id: theirs, cidr: 10.9.0.0/24}
"""
_BACKEND = (
    'driver_handles_share_servers = true\nmax_shares_per_share_server = 1\nbackend_availability_zone = {}\n'
)


class Refusals(base.ServiceTest):
    """Two backends in two zones; each share gets a server of its own."""

    BACKENDS = {'alpha': _BACKEND.format('east'), 'beta': _BACKEND.format('west')}
    EXTRA = '[quota]\nshare_networks = -1\n'

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.service.use_networks(_NETWORKS)
        cls.admin.ok(
            'POST',
            '/types',
            {'share_type': {'name': 'served', 'extra_specs': {'driver_handles_share_servers': 'True'}}},
        )

    def setUp(self):
        super().setUp()
        self.addCleanup(self.no_address_is_nobodys)
        self.user = self.caller('p')

    def network(self, subnet='four', **more):
        """Make a share network with one subnet; return its id."""
        return self.user.ok(
            'POST',
            '/share-networks',
            {'share_network': {'neutron_net_id': 'blue', 'neutron_subnet_id': subnet, **more}},
        )['share_network']['id']

    def share(self, network, **more):
        """Make a share in the network, and wait until it is available or in error; return it."""
        return self.admin.share(
            share_type='served', share_network_id=network, wait=('available', 'error'), **more
        )

    def add(self, network, subnet, net='blue', **more):
        """Ask for one more subnet; return (status, message)."""
        body = {'share-network-subnet': {'neutron_net_id': net, 'neutron_subnet_id': subnet, **more}}
        status, document, _ = self.user.call('POST', f'/share-networks/{network}/subnets', body)
        return status, str(document)

    def facts(self):
        """Return all rows of networks, subnets, servers and allocations, and servers and addresses at the backends."""
        tables = (
            models.share_network_subnets,
            models.share_server_share_network_subnet_mappings,
            models.share_servers,
            models.share_networks,
            models.network_allocations,
        )
        with self.service.services.db.reader() as conn:
            rows = {
                table.name: sorted(
                    map(
                        str,
                        conn.execute(
                            sa.select(*(column for column in table.c if not column.name.endswith('_at')))
                        ).all(),
                    )
                )
                for table in tables
            }
        return rows, {
            name: sorted((record.id, str(record.addresses)) for record in manager.driver.store.servers.all())
            for name, manager in self.service.managers.items()
        }

    @contextlib.contextmanager
    def nothing_changes(self):
        before = self.facts()
        yield
        self.assertEqual(before, self.facts())

    def refused(self, network, status, *words, subnet='six', **more):
        """Check that the subnet is refused with this status and all ``words``, and that nothing changes."""
        with self.nothing_changes():
            found, said = self.add(network, subnet, **more)
            self.assertEqual(status, found, said)
            for word in words:
                self.assertIn(word, said)

    def server(self, network):
        """Return the only share server of the network."""
        [server] = self.admin.ok('GET', f'/share-servers?share_network_id={network}')['share_servers']
        return server

    def no_address_is_nobodys(self):
        """Check that each allocation has its server, and that active servers have the same ones at the backend."""
        with self.service.services.db.reader() as conn:
            stored = conn.execute(
                sa.select(models.network_allocations.c['share_server_id', 'ip_address'])
            ).all()
            running = conn.execute(sa.select(models.share_servers.c['id', 'status'])).all()
        self.assertEqual(set(), {row.share_server_id for row in stored} - {row.id for row in running})
        mine = {row.id for row in running if row.status == 'active'}
        at_backends = [
            (record.id, address)
            for manager in self.service.managers.values()
            for record in manager.driver.store.servers.all()
            if record.id in mine
            for found in record.addresses.values()
            for address in found
        ]
        self.assertEqual(
            sorted((row.share_server_id, row.ip_address) for row in stored if row.share_server_id in mine),
            sorted(at_backends),
        )

    # A new subnet for servers in use

    def test_unknown_or_missing_subnet_ids_are_refused(self):
        network = self.network()
        self.share(network)
        self.refused(network, 400, 'neutron_subnet_id', subnet=None)
        self.refused(network, 400, 'neutron_net_id', net=None)
        self.refused(network, 400, 'nothing-like-it', subnet='nothing-like-it')
        self.refused(network, 400, 'theirs', subnet='theirs')
        self.refused(network, 400, 'red', subnet='theirs', net='red')
        self.refused(network, 400, 'nowhere', availability_zone='nowhere')

    def test_overlapping_subnet_is_refused(self):
        network = self.network()
        self.share(network)
        self.refused(network, 409, '10.1.0.128/25', '10.1.0.0/24', subnet='inside', net='green')

    def test_subnet_for_a_network_of_another_project_is_refused(self):
        with self.nothing_changes():
            body = {'share-network-subnet': {'neutron_net_id': 'blue', 'neutron_subnet_id': 'six'}}
            status, _, _ = self.caller('q').call('POST', f'/share-networks/{self.network()}/subnets', body)
            self.assertEqual(404, status)
            self.user.ok(
                'DELETE',
                f'/share-networks/{self.user.ok("GET", "/share-networks")["share_networks"][0]["id"]}',
            )

    def test_subnet_for_a_network_in_error_is_refused(self):
        network = self.network()
        self.share(network)
        self.admin.ok('POST', f'/share-networks/{network}/action', {'reset_status': {'status': 'error'}})
        self.refused(network, 409, network, 'error')

    def test_subnet_for_a_server_in_error_is_refused(self):
        network = self.network()
        self.share(network)
        server = self.server(network)
        self.admin.ok('POST', f'/share-servers/{server["id"]}/action', {'reset_status': {'status': 'error'}})
        self.refused(network, 409, server['id'], 'error')

    def test_subnet_for_a_share_in_error_is_refused(self):
        network = self.network()
        share = self.share(network)
        self.admin.action(share['id'], 'reset_status', {'status': 'error'})
        self.refused(network, 409, share['id'], 'error')

    def test_subnet_is_refused_when_the_backend_is_down(self):
        network = self.network()
        self.share(network)
        # A heartbeat of their own must not come meanwhile.
        self.patch(service_rows, 'heartbeat', lambda *args, **more: 0.0)
        self.heard_of_backends(datetime.timedelta(hours=1))
        self.refused(network, 409, 'down')
        self.heard_of_backends(datetime.timedelta())

    def heard_of_backends(self, ago):
        services = models.services
        with self.service.services.db.writer() as conn:
            conn.execute(
                services.update()
                .where(services.c.binary == 'manila-share')
                .values(heartbeat_at=timeutils.utcnow() - ago)
            )

    def test_subnet_is_refused_when_the_backend_does_not_answer(self):
        network = self.network()
        share = self.share(network)
        backend = share['host'].partition('@')[2].partition('#')[0] if 'host' in share else None
        for name in [backend] if backend else self.BACKENDS:
            self.service.knob(name, 'check_update_share_server_network_allocations:hang')
            self.addCleanup(self.service.knob, name, '')
        self.service.conf.set_override('subnet_check_timeout', 1, 'api')
        self.addCleanup(self.service.conf.clear_override, 'subnet_check_timeout', 'api')
        self.refused(network, 409, 'did not answer')

    # Addresses

    def test_share_is_in_error_when_its_subnet_has_no_free_address(self):
        network = self.network('tiny')
        self.assertEqual('available', self.share(network)['status'])
        failed = self.share(network)
        self.assertEqual('error', failed['status'])
        told = self.admin.ok('GET', f'/messages?resource_id={failed["id"]}')['messages']
        self.assertTrue(told)
        with self.service.services.db.reader() as conn:
            found = (
                conn.execute(
                    sa.select(models.network_allocations.c.ip_address).where(
                        models.network_allocations.c.neutron_subnet_id == 'tiny'
                    )
                )
                .scalars()
                .all()
            )
        self.assertEqual(['10.2.0.2'], found)
        self.admin.ok('DELETE', f'/shares/{failed["id"]}')

    def test_subnet_with_too_few_addresses_for_all_servers_is_refused(self):
        network = self.network()
        shares = [self.share(network, availability_zone='east') for _ in range(2)]
        self.assertEqual({'available'}, {share['status'] for share in shares})
        self.refused(network, 409, '1 address left', '2 are needed', subnet='small')
        other = self.network('small')
        self.assertEqual('available', self.share(other)['status'])
        self.refused(network, 409, '0 addresses left', '2 are needed', subnet='small')
        servers = self.admin.ok('GET', f'/share-servers?share_network_id={network}')['share_servers']
        self.assertEqual(['active', 'active'], [server['status'] for server in servers])

    # Availability zones, and subnets in use

    def test_share_in_a_zone_without_a_subnet_is_refused(self):
        network = self.network(availability_zone='east')
        body = {'size': 1, 'share_proto': 'NFS', 'share_type': 'served', 'share_network_id': network}
        with self.nothing_changes():
            status, document, _ = self.admin.call(
                'POST', '/shares', {'share': {**body, 'availability_zone': 'west'}}
            )
        self.assertEqual(400, status)
        self.assertIn('west', document['badRequest']['message'])
        share = self.share(network)  # without a zone, it is placed in the subnet's
        self.assertEqual(('available', 'east'), (share['status'], share['availability_zone']))

    def test_servers_in_another_zone_are_unchanged(self):
        network = self.network()
        self.assertEqual('available', self.share(network, availability_zone='east')['status'])
        server = self.server(network)
        status, said = self.add(network, 'six', availability_zone='west')
        self.assertEqual(200, status, said)
        self.assertEqual(
            'active', self.user.ok('GET', f'/share-networks/{network}')['share_network']['status']
        )
        self.assertEqual(server, self.server(network))

    def test_subnet_and_network_in_use_cannot_be_deleted(self):
        network = self.network()
        self.share(network)
        [subnet] = self.user.ok('GET', f'/share-networks/{network}/subnets')['share_network_subnets']
        with self.nothing_changes():
            self.assertEqual(
                409, self.user.call('DELETE', f'/share-networks/{network}/subnets/{subnet["id"]}')[0]
            )
            self.assertEqual(409, self.user.call('DELETE', f'/share-networks/{network}')[0])
