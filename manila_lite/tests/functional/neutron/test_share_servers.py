# SPDX-License-Identifier: Apache-2.0
"""Ports of share servers in a real Neutron: made, found again, and deleted with the server, also after failures."""

import datetime

from oslo_utils import uuidutils

from manila_lite.conf.network import register_instead
from manila_lite.db import models
from manila_lite.db.queries import share_network_subnets, share_servers
from manila_lite.manager.plans import share_server_upkeep
from manila_lite.network.neutron_ports import OWNER
from manila_lite.tests.functional import base, neutron_base


class ServerTest(neutron_base.NeutronTest):
    """Dummy backends with share servers."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.admin.ok(
            'POST',
            '/types',
            {'share_type': {'name': 'served', 'extra_specs': {'driver_handles_share_servers': 'True'}}},
        )

    def share(self, network, wait='available'):
        """Make a share in the share network, and wait for its status unless ``wait`` is None; return it."""
        share = self.user.share(share_type='served', share_network_id=network, wait=None)
        return self.became(share, wait) if wait else share

    def became(self, share, status):
        return self.admin.wait(f'/shares/{share["id"]}', 'share', status)

    def removed(self, network, *shares):
        """Delete the shares, and the network with its share servers."""
        for share in shares:
            self.user.ok('DELETE', f'/shares/{share["id"]}')
        for share in shares:
            self.became(share, 'gone')
        for server in self.servers(network):
            self.admin.ok('DELETE', f'/share-servers/{server.id}')
        base.eventually(lambda: not self.servers(network), 'a share server stays')
        for row in self.rows_of(network)[1:]:
            self.user.ok('DELETE', f'/share-networks/{network}/subnets/{row.id}')
        self.user.ok('DELETE', f'/share-networks/{network}')

    def rows_of(self, network):
        """Return the subnets of the share network."""
        with self.service.services.db.reader() as conn:
            return share_network_subnets.of_network(conn, network)

    def servers(self, network):
        with self.service.services.db.reader() as conn:
            return share_servers.list_servers(conn, {'share_network_id': network})

    def paths(self, share):
        return [
            one['path']
            for one in self.user.ok('GET', f'/shares/{share["id"]}/export_locations')['export_locations']
        ]


class Ports(ServerTest):
    """A backend with one share on each server."""

    BACKENDS = {'alpha': 'driver_handles_share_servers = true\nmax_shares_per_share_server = 1\n'}

    def knob(self, text):
        self.service.knob('alpha', text)
        self.addCleanup(self.service.knob, 'alpha', '')

    # Successful calls

    def test_server_gets_a_port_that_is_deleted_with_it(self):
        net = self.net()
        subnet = self.subnet(net, '10.1.0.0/24')
        network = self.made(net, subnet)
        share = self.share(network)
        [server] = self.servers(network)
        [port] = self.ports(network_id=net.id)
        [fixed] = port.fixed_ips
        self.assertEqual(
            (OWNER, server.id, self.project, subnet.id),
            (port.device_owner, port.device_id, port.project_id, fixed['subnet_id']),
        )
        self.assertIn(server.id, port.name)
        self.assertTrue(self.paths(share)[0].startswith(f'{fixed["ip_address"]}:'), self.paths(share))
        [row] = [row for row in self.rows(models.network_allocations) if row.share_server_id == server.id]
        self.assertEqual((port.id, port.mac_address), (row.port_id, row.mac_address))
        self.removed(network, share)
        self.assertEqual([], self.ports(network_id=net.id))

    def test_port_in_a_shared_network_belongs_to_the_requesting_project(self):
        theirs = self.net(project_id=uuidutils.generate_uuid())
        subnet = self.subnet(theirs, '10.1.0.0/24')
        self.neutron.create_rbac_policy(
            object_type='network',
            object_id=theirs.id,
            action='access_as_shared',
            target_project_id=self.project,
        )
        network = self.made(theirs, subnet)
        share = self.share(network)
        self.assertEqual([self.project], [port.project_id for port in self.ports(network_id=theirs.id)])
        self.removed(network, share)

    def test_dual_stack_server_gets_a_port_in_each_subnet(self):
        net = self.net()
        four, six = self.subnet(net, '10.1.0.0/24'), self.subnet(net, 'fd77::/64')
        network = self.made(net, four, six)
        share = self.share(network)
        at = {
            port.fixed_ips[0]['subnet_id']: port.fixed_ips[0]['ip_address']
            for port in self.ports(network_id=net.id)
        }
        self.assertEqual({four.id, six.id}, set(at))
        self.assertEqual(
            [f'{at[four.id]}:', f'[{at[six.id]}]:'], [path.partition('/')[0] for path in self.paths(share)]
        )
        self.removed(network, share)
        self.assertEqual([], self.ports(network_id=net.id))

    def test_slaac_subnet_gets_its_own_port(self):
        """Make a port for each subnet, though every port gets an address by SLAAC."""
        net = self.net()
        six = self.subnet(net, 'fd78::/64', ipv6_address_mode='slaac', ipv6_ra_mode='slaac')
        four = self.subnet(net, '10.1.0.0/24')
        network = self.made(net, four, six)
        share = self.share(network)
        self.assertEqual(2, len(self.ports(network_id=net.id)))
        self.assertEqual(['10.1.0.', '[fd78::'], [path[:7] for path in self.paths(share)])
        self.removed(network, share)
        self.assertEqual([], self.ports(network_id=net.id))

    def test_server_in_use_gets_a_port_in_an_added_subnet(self):
        net = self.net()
        four, six = self.subnet(net, '10.1.0.0/24'), self.subnet(net, 'fd77::/64')
        network = self.made(net, four)
        share = self.share(network)
        self.add(network, net, six)
        self.admin.wait(f'/share-networks/{network}', 'share_network', 'active')
        self.assertEqual(2, len(self.paths(share)))
        [server] = self.servers(network)
        self.assertEqual(
            {(server.id, four.id), (server.id, six.id)},
            {(port.device_id, port.fixed_ips[0]['subnet_id']) for port in self.ports(network_id=net.id)},
        )
        self.removed(network, share)

    def test_servers_created_at_once_get_a_port_each(self):
        net = self.net()
        network = self.made(net, self.subnet(net, '10.1.0.0/24'))
        shares = [self.share(network, None) for _ in range(5)]
        for share in shares:
            self.became(share, 'available')
        ports = self.ports(network_id=net.id)
        self.assertEqual((5, 5), (len(ports), len({port.device_id for port in ports})))
        self.removed(network, *shares)
        self.assertEqual([], self.ports(network_id=net.id))

    # Failures

    def told(self, share):
        """Return the user messages that the owner of the share sees, as text."""
        return str(
            [
                one['user_message']
                for one in self.user.ok('GET', f'/messages?resource_id={share["id"]}')['messages']
            ]
        )

    def test_share_fails_if_the_subnet_has_no_free_address(self):
        net = self.net()
        network = self.made(net, self.small(net, 1))
        first = self.share(network)
        second = self.share(network, 'error')
        self.assertIn('has no free address left', self.told(second))
        self.assertEqual(1, len(self.ports(network_id=net.id)))
        self.removed(network, first, second)
        self.assertEqual([], self.ports(network_id=net.id))

    def test_no_port_is_left_if_one_of_two_subnets_is_full(self):
        net = self.net()
        network = self.made(net, self.subnet(net, 'fd77::/64'), small := self.small(net, 1))
        self.neutron.create_port(network_id=net.id, fixed_ips=[{'subnet_id': small.id}])
        share = self.share(network, 'error')
        self.assertEqual([], self.ports(network_id=net.id))
        self.removed(network, share)

    def refused(self, network, net, subnet, *words):
        """Check that the subnet is refused with these words, and that the servers serve as before."""
        status, document, _ = self.user.call(
            'POST',
            f'/share-networks/{network}/subnets',
            {'share-network-subnet': {'neutron_net_id': net.id, 'neutron_subnet_id': subnet.id}},
        )
        self.assertEqual(409, status, document)
        for word in words:
            self.assertIn(word, document['conflictingRequest']['message'])
        self.assertEqual(['active'], [server.status for server in self.servers(network)])
        self.assertEqual(1, len(self.ports(network_id=net.id)))

    def test_full_subnet_is_refused_to_servers_in_use(self):
        net = self.net()
        small = self.small(net, 1)
        self.neutron.create_port(network_id=net.id, fixed_ips=[{'subnet_id': small.id}])
        network = self.made(net, self.subnet(net, 'fd77::/64'))
        share = self.share(network)
        self.refused(network, net, small, small.id, '0 addresses left, and 1 are needed')
        self.removed(network, share)

    def test_subnet_is_refused_if_the_project_may_have_no_more_ports(self):
        net = self.net()
        network = self.made(net, self.subnet(net, '10.1.0.0/24'))
        share = self.share(network)
        self.neutron.update_quota(self.project, ports=1)
        self.addCleanup(self.neutron.delete_quota, self.project)
        self.refused(network, net, self.subnet(net, 'fd77::/64'), '0 more ports in Neutron, and 1 are needed')
        self.removed(network, share)

    def test_ports_are_deleted_if_the_backend_fails(self):
        self.knob('setup_server:fail_final')
        net = self.net()
        network = self.made(net, self.subnet(net, '10.1.0.0/24'), self.subnet(net, 'fd77::/64'))
        share = self.share(network, 'error')
        self.assertEqual([], self.ports(network_id=net.id))
        self.removed(network, share)

    def test_port_in_an_added_subnet_is_deleted_if_the_backend_fails(self):
        net = self.net()
        network = self.made(net, self.subnet(net, '10.1.0.0/24'))
        share = self.share(network)
        self.knob('update_share_server_network_allocations:fail_final')
        self.add(network, net, self.subnet(net, 'fd77::/64'))
        self.admin.wait(f'/share-networks/{network}', 'share_network', 'active')
        self.assertEqual(1, len(self.ports(network_id=net.id)))
        self.removed(network, share)

    def test_create_and_delete_wait_until_neutron_is_back(self):
        """Create a share and delete a share server once Neutron is back, since both requests were accepted."""
        net = self.net()
        network = self.made(net, self.subnet(net, '10.1.0.0/24'))
        self.server.stop()
        try:
            share = self.share(network, None)
            base.eventually(self.waiting, 'nothing waits for Neutron')
        finally:
            self.server.start()
        self.became(share, 'available')
        self.user.ok('DELETE', f'/shares/{share["id"]}')
        self.became(share, 'gone')
        self.server.stop()
        try:
            self.user.ok('DELETE', f'/share-networks/{network}')
            base.eventually(self.waiting, 'nothing waits for Neutron')
        finally:
            self.server.start()
        base.eventually(lambda: not self.servers(network), 'a share server stays')
        self.assertEqual([], self.ports(network_id=net.id))

    def waiting(self):
        """Say whether an operation on a share server was put off."""
        put_off = datetime.timedelta(seconds=4)
        return any(
            row.resource_type == 'share_server'
            and row.state == 'open'
            and row.next_run_at - row.created_at > put_off
            for row in self.rows(models.operations)
        )

    def test_share_fails_if_neutron_is_down_for_too_long(self):
        self.set_option('patience', 0, 'network')
        net = self.net()
        network = self.made(net, self.subnet(net, '10.1.0.0/24'))
        self.server.stop()
        try:
            share = self.share(network, 'error')
        finally:
            self.server.start()
        self.removed(network, share)

    def test_server_is_deleted_though_its_port_is_gone(self):
        net = self.net()
        network = self.made(net, self.subnet(net, '10.1.0.0/24'))
        share = self.share(network)
        for port in self.ports(network_id=net.id):
            self.neutron.delete_port(port)
        self.removed(network, share)

    # Leftovers

    def leftover(self, net):
        """Make ports in the network for a server that is gone and for a stranger. Return the stranger."""
        network = self.made(net, self.subnet(net, '10.1.0.0/24'))
        share = self.share(network)
        [server], [row] = self.servers(network), self.rows_of(network)
        place = self.plugin.describe(net.id, row.neutron_subnet_id, self.project)
        self.removed(network, share)
        stranger = uuidutils.generate_uuid()
        for owner in (server.id, stranger):
            self.plugin.allocate(place, 1, taken=(), owner=owner)
        self.addCleanup(self.plugin.forget, stranger)
        return stranger

    def test_leftover_port_of_a_deleted_server_is_deleted(self):
        """Delete the leftover port of a server that was ours, and no other."""
        stranger = self.leftover(net := self.net())
        share_server_upkeep.free_leftovers(self.service.managers['alpha'])
        self.assertEqual([stranger], [port.device_id for port in self.ports(network_id=net.id)])

    def test_leftover_port_in_the_network_of_administrators_is_deleted(self):
        """Delete it, as in other networks, where only the network of administrators is Neutron's."""
        stranger = self.leftover(net := self.net())
        self.set_option('admin_network_config_group', 'administrators', 'alpha')
        register_instead(self.service.conf, 'administrators')
        for group, plugin in (('administrators', 'neutron'), ('network', 'standalone')):
            self.set_option('plugin', plugin, group)
        share_server_upkeep.free_leftovers(self.service.managers['alpha'])
        self.assertEqual([stranger], [port.device_id for port in self.ports(network_id=net.id)])

    # Servers that others look after

    def test_port_is_kept_when_a_server_is_unmanaged_and_managed_again(self):
        net = self.net()
        network = self.made(net, self.subnet(net, '10.1.0.0/24'))
        share = self.share(network)
        [server], [port] = self.servers(network), self.ports(network_id=net.id)
        self.user.ok('DELETE', f'/shares/{share["id"]}')
        self.became(share, 'gone')
        self.admin.ok('POST', f'/share-servers/{server.id}/action', {'unmanage': None})
        base.eventually(lambda: not self.servers(network), 'the server stays')
        share_server_upkeep.free_leftovers(self.service.managers['alpha'])
        self.assertEqual([(port.id, '')], [(one.id, one.device_id) for one in self.ports(network_id=net.id)])
        again = self.admin.ok(
            'POST',
            '/share-servers/manage',
            {'share_server': {'host': 'test@alpha', 'share_network_id': network, 'identifier': server.id}},
        )['share_server']['id']
        self.admin.wait(f'/share-servers/{again}', 'share_server', 'active')
        self.assertEqual(
            [(port.id, again)], [(one.id, one.device_id) for one in self.ports(network_id=net.id)]
        )
        self.removed(network)
        self.assertEqual([], self.ports(network_id=net.id))


class Moves(ServerTest):
    """A share server moves between two backends."""

    BACKENDS = dict.fromkeys(
        ('alpha', 'beta'),
        'driver_handles_share_servers = true\nserver_migration_driver_continue_update_interval = 0.1\n',
    )

    def moved(self, network, **how):
        """Move the server of the share network to the other backend. Return it as it was."""
        [server] = self.servers(network)
        [target] = {'test@alpha', 'test@beta'} - {server.host}
        action = f'/share-servers/{server.id}/action'
        self.admin.ok(
            'POST',
            action,
            {
                'migration_start': {
                    'host': target,
                    'writable': True,
                    'nondisruptive': False,
                    'preserve_snapshots': True,
                    **how,
                }
            },
        )
        self.task_is(action, 'migration_driver_phase1_done')
        self.admin.ok('POST', action, {'migration_complete': None})
        self.task_is(action, 'migration_success')
        base.eventually(lambda: [one.host for one in self.servers(network)] == [target], 'the source stays')
        return server

    def task_is(self, action, state):
        base.eventually(
            lambda: self.admin.ok('POST', action, {'migration_get_progress': None})['task_state'] == state,
            state,
        )

    def test_port_stays_with_the_address_that_a_server_takes_over(self):
        """Move a server there and back: its port names the present server, and no other server may get its address."""
        net = self.net()
        network = self.made(net, self.subnet(net, '10.1.0.0/24'), self.subnet(net, 'fd77::/64'))
        share = self.share(network)
        paths, before = self.paths(share), {port.id for port in self.ports(network_id=net.id)}
        for _ in range(2):
            former = self.moved(network)
            [server] = self.servers(network)
            self.assertNotEqual(former.id, server.id)
            ports = self.ports(network_id=net.id)
            self.assertEqual(
                (before, {server.id}), ({port.id for port in ports}, {port.device_id for port in ports})
            )
            self.assertTrue(all(server.id in port.name and former.id not in port.name for port in ports))
            self.assertEqual(
                sorted(path.partition('/')[0] for path in paths),
                sorted(path.partition('/')[0] for path in self.paths(share)),
            )
        self.removed(network, share)
        self.assertEqual([], self.ports(network_id=net.id))
