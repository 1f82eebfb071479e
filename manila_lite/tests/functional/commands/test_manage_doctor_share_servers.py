# SPDX-License-Identifier: Apache-2.0
"""``manila-manage doctor`` finds stuck share servers and networks and mends them beside a running service."""

import types

from oslo_utils import timeutils, uuidutils

from manila_lite import doctor, states
from manila_lite.db import models
from manila_lite.db.core import transitions
from manila_lite.db.queries import allocations
from manila_lite.db.queries import operations as rows
from manila_lite.drivers.dummy.store import ServerRecord
from manila_lite.tests.functional import base, manage, served


class ServersTest(served.ServedTest, manage.ManageTest):
    """Base class of tests on damage made by SQL. Each test has a project and a network of its own."""

    def setUp(self):
        super().setUp()
        self.network_id = self.network()
        self.store = self.service.managers['alpha'].driver.store
        self.addCleanup(self.clean)

    def clean(self):
        """Remove everything that a test left."""
        with self.service.services.db.writer() as conn:
            for table in (
                models.operations,
                models.shares,
                models.network_allocations,
                models.share_servers,
                models.share_networks,
                models.quota_locks,
            ):
                conn.execute(table.delete())
        # A run that was ensuring shares may have been deleted. Managers lock rows of services before those of others.
        with self.service.services.db.writer() as conn:
            conn.execute(models.services.update().where(models.services.c.ensuring).values(ensuring=False))
        with self.store.locked():
            for record in self.store.servers.all():
                self.store.servers.drop(record.id)

    def server(self, *, idle=True):
        """Create a share server in the network; return its row."""
        share = self.share(self.network_id)
        if idle:
            self.user.ok('DELETE', f'/shares/{share["id"]}')
        [server] = self.servers(self.network_id)
        return server

    def put(self, server, status, **values):
        self.write(models.share_servers, server.id, status=status, **values)

    def ended(self, server, kind, **data):
        """Insert a failed operation of this kind as the last one of the server."""
        with self.service.services.db.writer() as conn:
            rows.insert(
                conn,
                kind=kind,
                resource_type='share_server',
                resource_id=server.id,
                topic='share',
                host=server.host,
                lane='work',
                data=data,
                project_id='p',
                user_id='u',
                state='failed',
                error='x',
                finished_at=timeutils.utcnow(),
            )

    def found(self, status=1):
        return {one['id']: one for one in self.listed('doctor', status=status)}

    def mend(self, *idents):
        """Check that each resource is found wrong, and mend all; wait until nothing is wrong."""
        found = self.found()
        for resource_id in idents:
            self.assertTrue(
                found[resource_id]['wrong'] and found[resource_id]['mendable'], found[resource_id]
            )
        _, said = self.manage('doctor', '--fix')
        for resource_id in idents:
            self.assertIn(resource_id, said)
        base.eventually(
            lambda: not any(one.wrong for one in doctor.list_findings(self.service.services)),
            'something is wrong still',
        )
        return said

    def ends(self, server, status):
        return self.admin.wait(f'/share-servers/{server.id}', 'share_server', status)

    def network_is(self, status):
        return self.admin.wait(f'/share-networks/{self.network_id}', 'share_network', status)

    def test_healthy_server_is_not_reported(self):
        self.server(idle=False)
        self.assertIn('0 of 0 are wrong', self.manage('doctor')[0])

    def test_stuck_creation_and_deletion_are_begun_again(self):
        for status, kind, end in (
            ('creating', 'share_server.create', 'active'),
            ('deleting', 'share_server.delete', 'gone'),
        ):
            server = self.server()
            self.ended(server, kind)
            self.put(server, status)
            self.assertIn(f'{kind} was begun again', self.mend(server.id))
            self.ends(server, end)

    def test_stuck_managing_and_unmanaging_are_begun_again(self):
        with self.store.locked():
            self.store.servers.put(ServerRecord('nas1', {'lan': [self.unused_address()]}, ours=False))
        server_id = self.admin.ok(
            'POST',
            '/share-servers/manage',
            {
                'share_server': {
                    'host': 'test@alpha',
                    'share_network_id': self.network_id,
                    'identifier': 'nas1',
                }
            },
        )['share_server']['id']
        server = types.SimpleNamespace(id=server_id, host='test@alpha')
        self.ends(server, 'active')
        self.put(server, 'manage_starting')
        self.assertIn('share_server.manage was begun again', self.mend(server_id))
        self.ends(server, 'active')
        self.ended(server, 'share_server.unmanage', force=False)
        self.put(server, 'unmanage_starting')
        self.assertIn('share_server.unmanage was begun again', self.mend(server_id))
        self.ends(server, 'gone')

    def test_unproven_server_statuses_end_in_error_states(self):
        """Check that a server in use is neither deleted nor created again for a status that was set by hand. It runs, so it is
        active in the end.
        """
        server = self.server(idle=False)
        for status, kind, end in (
            ('deleting', 'share_server.create', 'error'),
            ('deleting', 'share_server.delete', 'error'),
            ('creating', 'share_server.create', 'error'),
            ('network_change', 'share_server.create', 'error'),
            ('manage_starting', 'share_server.create', 'manage_error'),
            ('unmanage_starting', 'share_server.unmanage', 'unmanage_error'),
        ):
            with self.service.services.db.writer() as conn:
                conn.execute(models.operations.delete())
            self.ended(server, kind)
            self.put(server, status)
            self.assertIn(f'it cannot be taken up again: {end}', self.mend(server.id))
            self.ends(server, 'active')
        messages = self.admin.ok('GET', f'/messages?resource_id={server.id}')['messages']
        self.assertIn('could not be taken up again', messages[0]['user_message'])
        self.assertIsNotNone(self.store.servers.get(server.id))

    def test_network_left_changing_is_active_again(self):
        self.server()
        self.write(models.share_networks, self.network_id, status='network_change')
        self.mend(self.network_id)
        self.network_is('active')

    def test_interrupted_subnet_addition_is_completed(self):
        server = self.server(idle=False)
        subnet = self.forgotten_subnet(server)
        self.write(models.share_networks, self.network_id, status='network_change')
        self.put(server, 'network_change')
        self.ended(server, 'share_server.add_subnet', subnet_id=subnet, network_id=self.network_id)
        found = self.found()
        self.assertIn('share servers change', found[self.network_id]['why'])
        self.assertFalse(found[self.network_id]['wrong'])
        self.mend(server.id)
        self.has_both(server)

    def forgotten_subnet(self, server):
        """Insert a subnet of the network and of the server, without an allocation; return the subnet's id."""
        subnet_id = uuidutils.generate_uuid()
        self.add(
            models.share_network_subnets,
            id=subnet_id,
            share_network_id=self.network_id,
            neutron_net_id='blue',
            neutron_subnet_id='blue-v6',
            cidr='fd10::/64',
            ip_version=6,
            created_at=timeutils.utcnow(),
        )
        self.add(
            models.share_server_share_network_subnet_mappings,
            share_server_id=server.id,
            share_network_subnet_id=subnet_id,
            created_at=timeutils.utcnow(),
        )
        return subnet_id

    def has_both(self, server):
        self.ends(server, 'active')
        self.network_is('active')
        with self.service.services.db.reader() as conn:
            self.assertEqual([4, 6], sorted(row.ip_version for row in allocations.of_server(conn, server.id)))
        self.assertEqual(2, len(self.store.servers.get(server.id).addresses))

    def test_missing_subnet_address_is_allocated(self):
        server = self.server()
        subnet = self.forgotten_subnet(server)
        self.mend(subnet)
        self.has_both(server)

    def test_leaked_address_is_reported_but_not_repairable(self):
        server = self.server()
        table = models.share_server_share_network_subnet_mappings
        self.drop(table, table.c.share_server_id == server.id)
        with self.service.services.db.reader() as conn:
            [address] = allocations.of_server(conn, server.id)
        found = self.found()[address.id]
        self.assertEqual(
            (True, False, address.ip_address), (found['wrong'], found['mendable'], found['state'])
        )
        self.admin.ok('DELETE', f'/share-servers/{server.id}')
        self.ends(server, 'gone')
        self.manage('doctor')

    def test_deletion_of_an_emptied_network_is_completed(self):
        server = self.server()
        self.service.knob('alpha', 'teardown_server:delay=0.1')
        self.addCleanup(self.service.knob, 'alpha', '')
        self.write(models.share_networks, self.network_id, deletion_deferred=True)
        self.assertEqual(
            (False, 'going'), tuple(self.found(0)[self.network_id][key] for key in ('wrong', 'state'))
        )
        with self.store.locked():  # else a report of the backend may find it there without a record
            self.store.servers.drop(server.id)
        self.drop(models.network_allocations, models.network_allocations.c.share_server_id == server.id)
        table = models.share_server_share_network_subnet_mappings
        self.drop(table, table.c.share_server_id == server.id)
        self.drop(models.share_server_details, models.share_server_details.c.owner_id == server.id)
        self.drop(models.share_servers, models.share_servers.c.id == server.id)
        self.mend(self.network_id)
        usage = self.user.ok('GET', f'/quota-sets/{self.user.token.split(":")[1]}/detail')['quota_set']
        self.assertEqual(0, usage['share_networks']['in_use'])

    def test_parked_server_deletion_is_completed(self):
        server = self.server()
        with self.service.services.db.writer() as conn:
            transitions.begin(conn, states.SHARE_SERVER, 'delete', server.id)
            rows.insert(
                conn,
                kind='share_server.delete',
                resource_type='share_server',
                resource_id=server.id,
                topic='share',
                host=server.host,
                lane='work',
                data={},
                project_id='p',
                user_id='u',
                state='parked',
                error='odd',
            )
        [parked] = [resource_id for resource_id, one in self.found().items() if one['what'] == 'operation']
        self.mend(parked)
        self.ends(server, 'gone')

    def test_server_known_only_to_the_backend_is_reported(self):
        with self.store.locked():
            self.store.servers.put(ServerRecord('stray', {'lan': ['10.10.0.7']}))
            self.store.servers.put(ServerRecord('not-ours', {'lan': ['10.10.0.8']}, ours=False))
        self.service.managers['alpha']._report()
        found = self.found()
        self.assertTrue(found['stray']['wrong'])
        self.assertNotIn('not-ours', found)
        with self.store.locked():
            self.store.servers.drop('stray')
        self.service.managers['alpha']._report()
        self.manage('doctor')
