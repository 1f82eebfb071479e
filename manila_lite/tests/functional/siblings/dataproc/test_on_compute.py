# SPDX-License-Identifier: Apache-2.0
"""Nodes that are servers of the compute service, from creation to deletion."""

import io
import itertools

import fixtures
import paramiko

from manila_lite import errors
from manila_lite.siblings.dataproc import remote
from manila_lite.siblings.dataproc.interface import Wanted
from manila_lite.tests import process
from manila_lite.tests.functional.siblings.dataproc.base import DataprocTest, group
from manila_lite.tests.functional.siblings.dataproc.on_compute import OnCompute


class Servers(DataprocTest):
    """One compute service for the class; each test begins and ends without servers."""

    @classmethod
    def setUpClass(cls):
        super(DataprocTest, cls).setUpClass()
        cls.on = OnCompute(cls.url)
        cls.on.setUp()
        cls.addClassCleanup(cls.on.cleanUp)
        cls.dataproc, cls.compute = cls.on.dataproc, cls.on.compute

    def setUp(self):
        super().setUp()
        # Servers are deleted before the rows, whatever the rows have.
        self.addCleanup(self.clear)
        self.conf = self.dataproc.conf
        self.infra = self.dataproc.engine.tools.infra

    def clear(self):
        """Remove the compute service's faults, and delete all servers."""
        self.compute.knob()
        for server in self.on.them.ok('GET', '/servers')['servers']:
            self.on.them.ok('DELETE', f'/servers/{server["id"]}')
            self.on.them.wait(server['id'], 'gone')

    def override(self, **values):
        """Set options of the nodes until the test ends."""
        for name, value in values.items():
            self.conf.set_override(name, value, 'dataproc_nodes')
            self.addCleanup(self.conf.clear_override, name, 'dataproc_nodes')

    def gone(self, cluster):
        """Delete a cluster; check that no server is left."""
        self.me.ok('DELETE', f'/clusters/{cluster["id"]}')
        self.me.wait(cluster['id'], 'gone')
        self.assertEqual({}, self.on.servers())
        self.assertEqual({}, self.compute.records()['servers'])

    def test_servers_are_made_and_deleted_with_the_cluster(self):
        share = self.shared()
        made = self.make(shares=[{'id': share}])
        servers = self.on.servers()
        self.assertEqual(2, len(servers))
        self.assertEqual(dict.fromkeys(servers, 'rw'), self.rules(share))
        shown = {node['internal_ip']: node for one in made['node_groups'] for node in one['instances']}
        self.assertEqual(set(servers), set(shown))
        for address, server in servers.items():
            self.assertEqual(
                ('ACTIVE', 1024, 1), (server['status'], server['flavor']['ram'], server['flavor']['vcpus'])
            )
            self.assertTrue(server['name'].startswith(shown[address]['instance_name']))
            self.assertEqual({share: (f'/mnt/{share}', 'rw')}, self.dataproc.mounted(server['name']))
        path = f'/clusters/{made["id"]}'
        self.me.ok('PUT', path, {'resize_node_groups': [{'name': 'workers', 'count': 3}]})
        self.me.wait(made['id'], 'Active')
        self.assertLess(set(servers), set(self.on.servers()))
        self.me.ok('PUT', path, {'resize_node_groups': [{'name': 'workers', 'count': 1}]})
        self.me.wait(made['id'], 'Active')
        self.assertEqual(self.rules(share), dict.fromkeys(self.on.servers(), 'rw'))
        self.assertEqual(1, len(self.on.servers()))
        self.gone(made)
        self.assertEqual({}, self.rules(share))

    def test_host_key_of_a_node_is_known_before_it_boots(self):
        made = self.make(group(count=1, flavor_id='2x2048', image_id='debian'))
        (server,) = self.on.servers().values()
        user_data = self.on.user_data(server['id'])
        node = self.infra.ready(server['name'], Wanted('i', 'n', made['id'], 'workers'))
        self.assertEqual(user_data['ssh_keys']['ed25519_public'], node.host_key)
        private = paramiko.Ed25519Key.from_private_key(io.StringIO(user_data['ssh_keys']['ed25519_private']))
        self.assertEqual(node.host_key, f'{private.get_name()} {private.get_base64()}')
        (user,) = user_data['users']
        self.assertEqual(
            [remote.public_key(self.conf.dataproc_nodes.ssh_key_file)], user['ssh_authorized_keys']
        )
        self.assertEqual(
            ('root', 'one-workers-001', False),
            (user['name'], user_data['hostname'], user_data['disable_root']),
        )
        self.assertEqual(
            (2, 2048, 'debian'), (server['flavor']['vcpus'], server['flavor']['ram'], server['image']['id'])
        )

    def test_login_other_than_root_has_sudo(self):
        self.override(ssh_user='admin')
        self.make(group(count=1))
        (server,) = self.on.servers().values()
        (me,) = self.on.user_data(server['id'])['users']
        self.assertEqual(('admin', 'ALL=(ALL) NOPASSWD:ALL'), (me['name'], me['sudo']))

    def test_failed_server_is_reported_and_replaced(self):
        self.compute.knob('spawn final')
        made = self.make(group(count=1), wait=('Error',))
        self.assertIn('spawn was told to fail', made['status_description'])
        self.compute.knob()
        self.me.ok('PATCH', f'/clusters/{made["id"]}', {'shares': []})
        self.me.wait(made['id'], 'Active')
        process.until(lambda: len(self.on.servers()) == 1, 'the first one is gone', str)
        self.gone(made)

    def test_impossible_nodes_are_reported(self):
        for number, (more, options, why) in enumerate(
            (
                ({'flavor_id': 'm1.small'}, {}, 'VCPUSxMEMORY'),
                ({'flavor_id': '99x64'}, {}, '99 is more than'),
                ({}, {'compute_kernel': None}, 'no image to boot from'),
                ({}, {'compute_network': 'other'}, 'no network other'),
                ({}, {'ssh_key_file': ''}, 'no key'),
            )
        ):
            self.override(**options)
            made = self.make(group(count=1, **more), wait=('Error',), name=f'c{number}')
            self.assertIn(why, made['status_description'])
            for name in options:
                self.conf.clear_override(name, 'dataproc_nodes')
            self.gone(made)

    def test_two_servers_of_one_name_become_one(self):
        """Check that one server is left of two: one engine died early, another did not see the server yet."""
        wanted = Wanted('11111111-2222-3333-4444-555555555555', 'n', 'c', 'workers')
        ref = self.infra.offer(wanted, frozenset())
        for _ in range(2):
            self.infra._ask('POST', '/servers', json={'server': self.infra._body(ref, wanted)})
        process.until(lambda: self.ready(ref, wanted), 'it is there', str)
        process.until(lambda: len(self.on.servers()) == 1, 'one is left', str)
        self.assertEqual(next(iter(self.on.servers())), self.ready(ref, wanted).address)

    def ready(self, ref, wanted):
        """Return the node, or None if it is not ready."""
        try:
            return self.infra.ready(ref, wanted)
        except errors.Again:
            return None

    def test_a_server_that_is_off_is_switched_on(self):
        made = self.make(group(count=1))
        (server,) = self.on.servers().values()
        self.on.them.act(server['id'], 'os-stop')
        self.on.them.wait(server['id'], 'SHUTOFF')
        wanted = Wanted('i', 'n', made['id'], 'workers')
        process.until(lambda: self.ready(server['name'], wanted), 'it answers again', str)
        self.assertEqual('ACTIVE', self.on.servers()[next(iter(self.on.servers()))]['status'])

    def test_only_unknown_servers_are_removed(self):
        self.make(group(count=1))
        mine = set(self.on.servers())
        others = {
            self.on.them.server(name=name, networks='auto', metadata=metadata)
            for name, metadata in (('plain', {}), ('theirs', {'mlite_dataproc': 'another'}))
        }
        stray = self.on.them.server(
            name='stray', networks='auto', metadata={'mlite_dataproc': 'mlite-dataproc'}
        )
        self.dataproc.engine.check()
        self.on.them.wait(stray, 'gone')
        left = self.on.servers()
        self.assertEqual(others, {server['id'] for address, server in left.items() if address not in mine})
        self.assertEqual(3, len(left))

    def test_more_servers_than_one_page(self):
        self.make(group(count=1))
        stray = self.on.them.server(
            name='stray', networks='auto', metadata={'mlite_dataproc': 'mlite-dataproc'}
        )
        self.useFixture(fixtures.MonkeyPatch('manila_lite.siblings.dataproc.infra.compute._PAGE', 1))
        self.assertEqual(2, len(list(itertools.islice(self.infra._servers(), 10))))
        self.dataproc.engine.check()
        self.on.them.wait(stray, 'gone')

    def test_forced_deletion_leaves_nothing(self):
        """Check the forced deletion of version 2: a node that does not answer is given up."""
        made = self.make(shares=[{'id': self.shared()}])
        server = next(iter(self.on.servers().values()))
        (self.dataproc.nodes / server['name'] / 'away').touch()
        self.assertEqual((204, None), self.me.call('DELETE', f'/clusters/{made["id"]}', {'force': True}))
        self.me.wait(made['id'], 'gone')
        self.assertEqual({}, self.on.servers())
