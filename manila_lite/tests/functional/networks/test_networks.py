# SPDX-License-Identifier: Apache-2.0
"""Share networks under concurrent requests: no address is allocated twice, no network in use is deleted."""

import logging
import threading

import sqlalchemy as sa
from oslo_db import exception as oslo_db_exception
from oslo_utils import uuidutils

from manila_lite import errors, states
from manila_lite.db import models
from manila_lite.db.core import transitions
from manila_lite.db.queries import (
    allocations,
    security_services,
    share_network_subnets,
    share_networks,
    share_servers,
)
from manila_lite.db.queries import operations as rows
from manila_lite.db.queries import services as service_rows
from manila_lite.manager.plans import allocated_addresses
from manila_lite.network import load
from manila_lite.network.interface import Address
from manila_lite.tests import waiting
from manila_lite.tests.factories import networks
from manila_lite.tests.factories import shares as share_rows
from manila_lite.tests.functional import base


def together(*works):
    """Run functions at the same time, each in a thread; return their results or exceptions, in order."""
    found = [None] * len(works)
    gate = threading.Barrier(len(works))

    def run(number, work):
        gate.wait(waiting.LIMIT)
        try:
            found[number] = work()
        except Exception as error:
            found[number] = error

    threads = [threading.Thread(target=run, args=pair) for pair in enumerate(works)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(waiting.LIMIT)
    return found


class NetworkTest(base.ServiceTest):
    """The API with the networks of a file, without backends and workers."""

    BACKENDS = {}
    PARTS = ()

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.service.use_networks(networks.FILE)

    @property
    def db(self):
        return self.service.services.db

    def network(self, caller=None, **values):
        return (caller or self.admin).ok('POST', '/share-networks', {'share_network': values})[
            'share_network'
        ]

    def rows(self, table):
        with self.db.reader() as conn:
            return list(conn.execute(sa.select(table)))


class Asking(NetworkTest):
    """Backends that are asked whether they can give their share servers a subnet."""

    EXTRA = 'service_down_time = 86400\n'

    def test_backends_are_asked_once_for_each_zone(self):
        """Ask about one subnet in two zones: a backend that has moved from one to the other has servers in both."""
        with self.db.writer() as conn:
            service_rows.heartbeat(conn, 'test@alpha', 'manila-share', 'there')
            zones = [service_rows.zone_id(conn, name, create=True) for name in ('here', 'there')]
            (network, subnet, _, _, old), (_, other, _, _, new) = networks.make(conn, 2)
            for resource_id, server, zone in ((subnet, old, zones[0]), (other, new, zones[1])):
                self._place(conn, network, resource_id, server, zone)
        for zone, server in (('here', old), ('there', new)):
            for _ in range(2):
                self.assertIsNone(
                    self.admin.ok(
                        'POST',
                        f'/share-networks/{network}/action',
                        {
                            'share_network_subnet_create_check': {
                                'neutron_net_id': 'blue',
                                'neutron_subnet_id': 'blue-small',
                                'availability_zone': zone,
                            }
                        },
                    )['compatible']
                )
            with self.db.reader() as conn:
                self.assertEqual(
                    [server], rows.list_of_resource(conn, network, 'subnet.check')[-1].data['servers'], zone
                )
        with self.db.reader() as conn:
            self.assertEqual(2, len(rows.list_of_resource(conn, network, 'subnet.check')))

    def _place(self, conn, network, subnet, server, zone):
        """Make this the only subnet of the server, in a zone of the network."""
        for table, resource_id, values in (
            (
                models.share_network_subnets,
                subnet,
                {'share_network_id': network, 'availability_zone_id': zone},
            ),
            (models.share_servers, server, {'share_network_id': network}),
        ):
            conn.execute(table.update().where(table.c.id == resource_id).values(**values))
        mapped = models.share_server_share_network_subnet_mappings
        conn.execute(
            mapped.delete().where(
                mapped.c.share_server_id == server, mapped.c.share_network_subnet_id != subnet
            )
        )


class Addresses(NetworkTest):
    def setUp(self):
        super().setUp()
        self.plugin = load.make(self.service.conf)

    def server(self, subnet='blue-small'):
        """Insert a share server in a share network of its own; return its id and the row of its subnet."""
        network = self.network(
            self.caller(uuidutils.generate_uuid()), neutron_net_id='blue', neutron_subnet_id=subnet
        )
        resource_id = uuidutils.generate_uuid()
        with self.db.writer() as conn:
            (row,) = share_network_subnets.of_network(conn, network['id'])
            share_servers.insert(
                conn, {'id': resource_id, 'share_network_id': network['id'], 'host': 'test@alpha'}, [row.id]
            )
        self.addCleanup(allocated_addresses.free, self.service.services, self.plugin, resource_id)
        return resource_id, row

    def allocate(self, server, count=1):
        return allocated_addresses.allocate(self.service.services, self.plugin, *server, count)

    def test_address_is_stored_with_the_data_of_its_subnet(self):
        server = self.server()
        (row,) = self.allocate(server)
        self.assertIn(row.ip_address, {f'10.10.1.{number}' for number in range(2, 7)})
        self.assertEqual(
            (server[0], server[1].id, 'blue-small', '10.10.1.0/29', '10.10.1.1', 4, 1450, 'vlan', 100),
            (
                row.share_server_id,
                row.share_network_subnet_id,
                row.neutron_subnet_id,
                row.cidr,
                row.gateway,
                row.ip_version,
                row.mtu,
                row.network_type,
                row.segmentation_id,
            ),
        )

    def test_repeated_allocation_returns_the_same_addresses(self):
        server = self.server()
        self.assertEqual(self.allocate(server), self.allocate(server))
        self.assertEqual(3, len(self.allocate(server, 3)))

    def test_networks_in_one_subnet_get_different_addresses(self):
        """Allocate for as many share servers at once as the subnet has addresses: each gets an address of its own."""
        servers = [self.server() for _ in range(5)]
        found = together(*(lambda server=server: self.allocate(server) for server in servers))
        self.assertEqual(
            [f'10.10.1.{number}' for number in range(2, 7)],
            sorted(row.ip_address for rows in found for row in rows),
            found,
        )
        full = self.assertRaises(errors.Final, self.allocate, self.server())
        self.assertEqual('SUBNET_FULL', full.detail)

    def test_conflicting_proposal_is_freed_and_other_addresses_are_stored(self):
        first, second = self.server(), self.server()
        (had,) = self.allocate(first)
        free = next(text for text in ('10.10.1.5', '10.10.1.6') if text != had.ip_address)
        freed = []

        class Stale(type(self.plugin)):
            """A plugin that proposes two addresses at its first call, one of which is already allocated."""

            def allocate(self, subnet, count, *, taken, owner):
                late = not freed
                return (
                    [Address(free), Address(had.ip_address)]
                    if late
                    else super().allocate(subnet, count, taken=taken, owner=owner)
                )

            def free(self, given):
                freed.extend(given)

        found = allocated_addresses.allocate(self.service.services, Stale(self.service.conf), *second, 2)
        self.assertEqual([free, had.ip_address], [address.ip_address for address in freed])
        self.assertEqual(2, len({row.ip_address for row in found} - {had.ip_address}))

    def test_freed_addresses_are_allocated_again(self):
        first, second = self.server(), self.server()
        self.assertEqual(5, len(self.allocate(first, 5)))
        self.assertRaises(errors.Final, self.allocate, second)
        for _ in range(2):
            allocated_addresses.free(self.service.services, self.plugin, first[0], first[1].id)
        self.assertEqual(5, len(self.allocate(second, 5)))

    def test_allocation_in_a_subnet_without_a_network_fails(self):
        resource_id, row = self.server()
        with self.db.writer() as conn:
            share_network_subnets.update(conn, row.id, neutron_net_id=None, neutron_subnet_id=None)
            row = share_network_subnets.get(conn, row.share_network_id, row.id)
        self.assertIn(row.id, str(self.assertRaises(errors.Final, self.allocate, (resource_id, row))))

    def test_delete_of_a_server_row_with_addresses_is_refused(self):
        """Refuse to delete the row of a server with addresses, which would leak at the plugin."""
        resource_id, _ = server = self.server()
        self.allocate(server)
        with self.db.reader() as conn:
            kept = allocations.of_server(conn, resource_id)
        self.assertEqual(1, len(kept))
        self.assertRaises(oslo_db_exception.DBReferenceError, self.delete_server, resource_id)

    def delete_server(self, resource_id):
        with self.db.writer() as conn:
            transitions.reset(conn, states.SHARE_SERVER, resource_id, 'deleting')
            transitions.finish(conn, states.SHARE_SERVER, 'delete', resource_id)


class AtOnce(NetworkTest):
    def directory(self, caller):
        return caller.ok('POST', '/security-services', {'security_service': {'type': 'ldap'}})[
            'security_service'
        ]['id']

    def test_second_security_service_of_one_type_is_refused(self):
        """Add only one of two security services of one type that are added at the same time."""
        network = self.network()['id']
        services = [self.directory(self.admin) for _ in range(2)]
        path = f'/share-networks/{network}/action'
        found = together(
            *(
                lambda service_id=service_id: self.admin.call(
                    'POST', path, {'add_security_service': {'security_service_id': service_id}}
                )[0]
                for service_id in services
            )
        )
        self.assertEqual([200, 409], sorted(found))

    def test_security_service_is_either_attached_or_deleted(self):
        """Either delete a security service or add it to a network, if both are asked for at the same time."""
        for _ in range(5):
            network = self.network(self.caller(uuidutils.generate_uuid()))
            owner = self.caller(network['project_id'])
            service = self.directory(owner)
            found = together(
                lambda path=f'/share-networks/{network["id"]}/action', resource_id=service, owner=owner: (
                    owner.call('POST', path, {'add_security_service': {'security_service_id': resource_id}})[
                        0
                    ]
                ),
                lambda path=f'/security-services/{service}', owner=owner: owner.call('DELETE', path)[0],
            )
            self.assertIn(found, ([200, 403], [404, 202]))

    def test_second_equal_subnet_is_refused(self):
        """Add only one of two equal subnets that are added at the same time."""
        network = self.network(self.caller('overlap'))['id']
        body = {'share-network-subnet': {'neutron_net_id': 'blue', 'neutron_subnet_id': 'blue-v4'}}
        found = together(
            *(
                lambda: self.admin.call('POST', f'/share-networks/{network}/subnets', body)[0]
                for _ in range(2)
            )
        )
        self.assertEqual([200, 409], sorted(found))

    def test_concurrent_requests_do_not_exceed_the_quota(self):
        self.admin.ok('PUT', '/quota-sets/narrow', {'quota_set': {'share_networks': 3}})
        caller = self.caller('narrow')
        found = together(
            *(lambda: caller.call('POST', '/share-networks', {'share_network': {}})[0] for _ in range(6))
        )
        self.assertEqual([200] * 3 + [413] * 3, sorted(found))


class InUse(NetworkTest):
    def instance(self, network_id, server_id=None):
        """Insert a share in a share network."""
        share, instance = uuidutils.generate_uuid(), uuidutils.generate_uuid()
        with self.db.writer() as conn:
            conn.execute(models.shares.insert().values(id=share, project_id='p', size=1, share_proto='NFS'))
            share_rows.instance(conn, share, instance, share_network_id=network_id, share_server_id=server_id)

    def test_delete_of_a_network_with_shares_is_refused(self):
        network = self.network()['id']
        self.instance(network)
        status, document, _ = self.admin.call('DELETE', f'/share-networks/{network}')
        self.assertEqual((409, 'share_network_in_use'), (status, document['conflictingRequest']['reason']))

    def test_subnet_delete_is_refused_while_shares_wait_for_a_server(self):
        network = self.network()
        path = f'/share-networks/{network["id"]}/subnets/{network["share_network_subnets"][0]["id"]}'
        self.instance(network['id'])
        status, document, _ = self.admin.call('DELETE', path)
        self.assertEqual((409, 'subnet_in_use'), (status, document['conflictingRequest']['reason']))

    def test_subnet_without_servers_is_deleted_beside_a_subnet_with_shares(self):
        mapped = models.share_server_share_network_subnet_mappings
        with self.db.writer() as conn:
            [(network, _, free, _, server)] = networks.make(conn, 1)
            conn.execute(mapped.delete().where(mapped.c.share_network_subnet_id == free))
        self.instance(network, server)
        path = f'/share-networks/{network}/subnets/{free}'
        self.admin.ok('DELETE', path)
        self.assertEqual(404, self.admin.call('GET', path)[0])

    def test_capability_is_shown_only_if_all_servers_have_it(self):
        """Show a capability of a share network only if each of its share servers has it."""
        with self.db.writer() as conn:
            ((network, one, *_),) = networks.make(conn, 1)
        path = f'/share-networks/{network}'
        self.assertTrue(self.admin.ok('GET', path)['share_network']['network_allocation_update_support'])
        with self.db.writer() as conn:
            share_servers.insert(
                conn,
                {'id': uuidutils.generate_uuid(), 'share_network_id': network, 'host': 'test@beta'},
                [one],
            )
        shown = self.admin.ok('GET', path)['share_network']
        self.assertFalse(shown['network_allocation_update_support'])
        listed = self.admin.ok('GET', f'/share-networks/detail?id={network}&all_tenants=1')['share_networks']
        self.assertEqual([False], [row['network_allocation_update_support'] for row in listed])

    def test_network_is_locked_only_in_an_expected_status(self):
        network = self.network()['id']
        with self.db.writer() as conn:
            self.assertTrue(share_networks.lock(conn, network, ('active',)))
            self.assertFalse(share_networks.lock(conn, network, ('error',)))
            self.assertFalse(security_services.lock(conn, 'nobody'))
        self.assertIsNone(self.admin.ok('GET', f'/share-networks/{network}')['share_network']['updated_at'])


class Broken(NetworkTest):
    def test_unreadable_file_is_reported(self):
        """Answer 503 where a request needs the file, which the operator must fix; serve other requests."""
        self.service.conf.set_override('file', str(self.service.state / 'none.yaml'), 'standalone_network')
        self.addCleanup(
            self.service.conf.set_override,
            'file',
            str(self.service.state / 'networks.yaml'),
            'standalone_network',
        )
        caller = self.caller('broken')
        status, document, _ = caller.call(
            'POST',
            '/share-networks',
            {'share_network': {'neutron_net_id': 'blue', 'neutron_subnet_id': 'blue-v4'}},
        )
        self.assertEqual((503, 'network_plugin_broken'), (status, document['serviceUnavailable']['reason']))
        self.assertNotIn('none.yaml', document['serviceUnavailable']['message'])
        self.network(caller)


class Secrets(NetworkTest):
    """Passwords of security services, which are in no log, even when a statement fails."""

    SECRET = 'hush-4711'

    def setUp(self):
        super().setUp()
        self.lines = []
        handler = logging.Handler(logging.DEBUG)
        handler.emit = lambda record: self.lines.append(logging.Formatter().format(record))
        root = logging.getLogger()
        before = root.level
        root.addHandler(handler)
        root.setLevel(logging.DEBUG)
        self.addCleanup(root.setLevel, before)
        self.addCleanup(root.removeHandler, handler)

    def test_password_is_not_logged_by_requests(self):
        values = {'type': 'ldap', 'password': self.SECRET}
        service_id = self.admin.ok('POST', '/security-services', {'security_service': values})[
            'security_service'
        ]['id']
        self.admin.ok(
            'PUT', f'/security-services/{service_id}', {'security_service': {'password': f'{self.SECRET}-2'}}
        )
        self.admin.ok('GET', '/security-services/detail')
        self.admin.call(
            'PUT', f'/security-services/{service_id}', {'security_service': {'password': self.SECRET * 100}}
        )
        self.admin.call('POST', '/security-services', {'security_service': {'password': [self.SECRET]}})
        self.assertNotIn(self.SECRET, '\n'.join(self.lines))

    def test_password_is_not_logged_by_a_failed_statement(self):
        with self.db.writer() as conn:
            refused = self.assertRaises(
                oslo_db_exception.DBError,
                security_services.insert,
                conn,
                {
                    'id': uuidutils.generate_uuid(),
                    'project_id': None,
                    'type': 'ldap',
                    'password': self.SECRET,
                },
            )
        logging.getLogger('test').error('as the API logs it', exc_info=refused)
        said = '\n'.join(self.lines)
        self.assertIn('security_services', said)
        self.assertNotIn(self.SECRET, said)
