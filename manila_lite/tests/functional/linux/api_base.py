# SPDX-License-Identifier: Apache-2.0
"""Base of tests of share servers with real storage, through the API."""

import contextlib
import sqlite3
import subprocess

from manila_lite.tests import nfs_client, process
from manila_lite.tests.functional.linux import base, server_base

_NETWORKS = """networks:
- {id: net-four, network_type: vlan, segmentation_id: 11,
   subnets: [{id: four, cidr: 10.66.1.0/24, gateway: 10.66.1.1, ranges: [[10.66.1.5, 10.66.1.9]]}]}
- {id: net-six, network_type: vxlan, segmentation_id: 4012,
   subnets: [{id: six, cidr: 'fd66:2::/64', gateway: 'fd66:2::1', ranges: [['fd66:2::5', 'fd66:2::9']]}]}
- {id: a-flat-one, subnets: [{id: more, cidr: 10.66.3.0/25, gateway: 10.66.3.1, ranges: [[10.66.3.5, 10.66.3.9]]}]}
- {id: net-same, network_type: vlan, segmentation_id: 15, subnets: [{id: same, cidr: 10.66.1.0/24}]}
"""
CONFIG = """[DEFAULT]
state_path = {state}/lib
[standalone_network]
file = {state}/networks.yaml
[alpha]
driver = linux
driver_handles_share_servers = true
linux_pool_path = {state}/pool.img
linux_pool_size_gb = 4
linux_graceless = true
linux_fabric_netns = {fabric}
"""


class ApiTest(server_base.MachineTest):
    """A service for each test, as a process that can be killed."""

    CONFIG = CONFIG
    #: The class of the service.
    LITE = process.Lite
    POOLS = ('pool.img',)

    def setUp(self):
        super().setUp()
        self.addCleanup(self.power_off)
        (self.machine.state / 'networks.yaml').write_text(_NETWORKS)
        self.lite = self.useFixture(
            self.LITE(self.CONFIG.format(state=self.machine.state, fabric=self.machine.fabric))
        )
        (self.machine.state / 'lite.conf').symlink_to(self.lite.config)
        self.lite.start()
        self.lite.ok(
            'POST',
            '/types',
            {
                'share_type': {
                    'name': 'default',
                    'extra_specs': {'driver_handles_share_servers': 'True', 'snapshot_support': 'True'},
                }
            },
        )
        self.until(lambda: self.lite.ok('GET', '/scheduler-stats/pools')['pools'], 'the pool is known')

    def power_off(self):
        """Remove all that a reboot removes: processes, namespaces, mounts, loop devices."""
        self.lite.kill()
        mine = [
            space
            for space in self.machine.spaces
            if space.startswith('manila-') or space == self.machine.fabric
        ]
        base.power_off(self.machine.state, self.POOLS, mine)
        self.machine.ports.clear()

    def until(self, check, what):
        """Wait until ``check`` returns something true; return its value."""
        return process.until(check, what, self.lite.tail)

    def bridged(self, subnet):
        """Wait until the fabric has the bridge of the subnet."""
        bridge = server_base.bridge_of(server_base.network(subnet, 1))

        def there():
            # The name of a namespace is there a moment before the namespace.
            with contextlib.suppress(subprocess.CalledProcessError):
                return bridge in base.command('ip', '-n', self.machine.fabric, 'link')
            return False

        self.until(there, f'the bridge of {subnet} is there')

    # Requests ---------------------------------------------------------------------------------

    def network(self):
        """Return a share network with an IPv4 and an IPv6 subnet."""
        network = self.lite.ok(
            'POST',
            '/share-networks',
            {'share_network': {'name': 'n', 'neutron_net_id': 'net-four', 'neutron_subnet_id': 'four'}},
        )['share_network']['id']
        self.assertEqual(200, self.add_subnet(network, 'net-six', 'six'))
        return network

    def add_subnet(self, network, net, subnet):
        """Ask for another subnet; return the status of the answer."""
        return self.lite.call(
            'POST',
            f'/share-networks/{network}/subnets',
            {'share-network-subnet': {'neutron_net_id': net, 'neutron_subnet_id': subnet}},
        )[0]

    def share(self, network, **more):
        """Create a share; return its id and the id of its share server."""
        share = self.lite.ok(
            'POST',
            '/shares',
            {'share': {'size': 1, 'share_proto': 'NFS', 'share_network_id': network, **more}},
        )['share']['id']
        made = self.lite.wait(f'/shares/{share}', 'share', ('available', 'error'))
        self.assertEqual('available', made['status'], self.lite.tail())
        self.machine.spaces.append(f'manila-{made["share_server_id"]}')
        return share, made['share_server_id']

    def grant(self, share, to, level='rw', ends='active'):
        """Add an access rule and check that it ends in the given state. Return its id."""
        rule = self.lite.ok(
            'POST',
            f'/shares/{share}/action',
            {'allow_access': {'access_type': 'ip', 'access_to': to, 'access_level': level}},
        )['access']['id']
        found = self.lite.wait(f'/share-access-rules/{rule}', 'access', ('active', 'error'), field='state')
        self.assertEqual(ends, found['state'], self.lite.tail())
        return rule

    def locations(self, share):
        """Return (path, preferred) of all export locations, in the order of the API."""
        found = self.lite.ok('GET', f'/shares/{share}/export_locations')['export_locations']
        return [(location['path'], location['preferred']) for location in found]

    def nfs(self, client, server, directory, *words):
        """Run an NFS command as a client; return (success, output)."""
        return nfs_client.call(server, directory, *words, netns=self.machine.space(client))

    def works(self, *call):
        """Check that the client succeeds; return the output."""
        worked, said = self.nfs(*call)
        self.assertTrue(worked, said)
        return said

    def refused(self, why, *call):
        """Check that the client is refused with this error."""
        worked, said = self.nfs(*call)
        self.assertFalse(worked, f'it worked: {said}')
        self.assertIn(why, said)

    def clients(self, *subnets):
        """Add the clients "friend" and "stranger" to each subnet."""
        for subnet in subnets:
            self.machine.client(f'friend-{subnet}', subnet, 101)
            self.machine.client(f'stranger-{subnet}', subnet, 102)

    def addresses(self):
        """Return the addresses of all allocations in the database."""
        with contextlib.closing(sqlite3.connect(self.machine.state / 'lib' / 'manila_lite.sqlite')) as db:
            return sorted(row[0] for row in db.execute('SELECT ip_address FROM network_allocations'))

    def remove(self, network, *shares, servers=()):
        """Delete shares, share servers and the network."""
        for share in shares:
            self.lite.ok('DELETE', f'/shares/{share}')
        for share in shares:
            self.lite.wait(f'/shares/{share}', 'share', 'gone')
        for server in servers:
            self.lite.ok('DELETE', f'/share-servers/{server}')
        path = f'/share-networks/{network}'
        for subnet in self.lite.ok('GET', path)['share_network']['share_network_subnets'][1:]:
            self.lite.ok('DELETE', f'{path}/subnets/{subnet["id"]}')
        self.lite.ok('DELETE', path)
