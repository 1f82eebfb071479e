# SPDX-License-Identifier: Apache-2.0
"""Share servers with real storage, asked for through the API: from the first share, through a reboot, to nothing."""

import contextlib
import sqlite3
import subprocess
from pathlib import Path

import psutil

from manila_lite.drivers.linux import mounts
from manila_lite.tests import nfs_client, nfs_writer, process
from manila_lite.tests.functional.linux import base, server_base

FOUR, SIX, MORE = (server_base.address(subnet, 5) for subnet in ('four', 'six', 'more'))
_NETWORKS = """networks:
- {id: net-four, network_type: vlan, segmentation_id: 11,
   subnets: [{id: four, cidr: 10.66.1.0/24, gateway: 10.66.1.1, ranges: [[10.66.1.5, 10.66.1.9]]}]}
- {id: net-six, network_type: vxlan, segmentation_id: 4012,
   subnets: [{id: six, cidr: 'fd66:2::/64', gateway: 'fd66:2::1', ranges: [['fd66:2::5', 'fd66:2::9']]}]}
- {id: a-flat-one, subnets: [{id: more, cidr: 10.66.3.0/25, gateway: 10.66.3.1, ranges: [[10.66.3.5, 10.66.3.9]]}]}
- {id: net-same, network_type: vlan, segmentation_id: 15, subnets: [{id: same, cidr: 10.66.1.0/24}]}
"""
_CONFIG = """[DEFAULT]
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


class ApiServers(server_base.MachineTest):
    """A service of its own for each test, as a process that can be killed."""

    def setUp(self):
        super().setUp()
        self.addCleanup(self.power_off)
        (self.machine.state / 'networks.yaml').write_text(_NETWORKS)
        self.lite = self.useFixture(process.Lite(_CONFIG.format(state=self.machine.state, fabric=self.machine.fabric)))
        self.lite.start()
        self.lite.ok('POST', '/types', {'share_type': {'name': 'default', 'extra_specs': {
            'driver_handles_share_servers': 'True', 'snapshot_support': 'True'}}})
        self.until(lambda: self.lite.ok('GET', '/scheduler-stats/pools')['pools'], 'the pool is known')

    def power_off(self):
        """Everything is gone that a reboot takes: processes, namespaces, mounts, loop devices."""
        self.lite.kill()
        mine = str(self.machine.state)
        for daemon in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if any(mine in word for word in daemon.cmdline()):
                    daemon.kill()
                    daemon.wait(30)
        for space in self.machine.spaces:
            if space.startswith('manila-') or space == self.machine.fabric:
                subprocess.run(['ip', 'netns', 'delete', space], capture_output=True, timeout=30)
        table = [line.split(' ')[4] for line in Path('/proc/self/mountinfo').read_text().splitlines()]
        for place in sorted((place for place in table if place.startswith(mine)), reverse=True):
            mounts.unmount(Path(place))
        if (self.machine.state / 'pool.img').exists():
            mounts.detach(self.machine.state / 'pool.img')
        self.machine.ports.clear()

    def until(self, check, what):
        """Wait until ``check`` returns something true; returns it."""
        return process.until(check, what, self.lite.tail, 120)

    # Asking -----------------------------------------------------------------------------------

    def network(self):
        """Return a share network with an IPv4 and an IPv6 subnet."""
        network = self.lite.ok('POST', '/share-networks', {'share_network': {
            'name': 'n', 'neutron_net_id': 'net-four', 'neutron_subnet_id': 'four'}})['share_network']['id']
        self.assertEqual(200, self.add_subnet(network, 'net-six', 'six'))
        return network

    def add_subnet(self, network, net, subnet):
        """Ask for a subnet more; returns the status of the answer."""
        return self.lite.call('POST', f'/share-networks/{network}/subnets', {'share-network-subnet': {
            'neutron_net_id': net, 'neutron_subnet_id': subnet}})[0]

    def share(self, network):
        """Return a new share, and the id of its server."""
        share = self.lite.ok('POST', '/shares', {'share': {
            'size': 1, 'share_proto': 'NFS', 'share_network_id': network}})['share']['id']
        made = self.lite.wait(f'/shares/{share}', 'share', ('available', 'error'), 120)
        self.assertEqual('available', made['status'], self.lite.tail())
        self.machine.spaces.append(f'manila-{made["share_server_id"]}')
        return share, made['share_server_id']

    def grant(self, share, to, level='rw', ends='active'):
        """A rule of the share became what it should. Returns its id."""
        rule = self.lite.ok('POST', f'/shares/{share}/action', {'allow_access': {
            'access_type': 'ip', 'access_to': to, 'access_level': level}})['access']['id']
        found = self.lite.wait(f'/share-access-rules/{rule}', 'access', ('active', 'error'), 120, field='state')
        self.assertEqual(ends, found['state'], self.lite.tail())
        return rule

    def locations(self, share):
        """Return (path, preferred) of all export locations in the order of the API."""
        found = self.lite.ok('GET', f'/shares/{share}/export_locations')['export_locations']
        return [(location['path'], location['preferred']) for location in found]

    def nfs(self, client, server, directory, *words):
        """Do something as a client; returns (worked, what it said)."""
        return nfs_client.call(server, directory, *words, netns=self.machine.space(client))

    def works(self, *call):
        """The client succeeded; returns what it said."""
        worked, said = self.nfs(*call)
        self.assertTrue(worked, said)
        return said

    def refused(self, why, *call):
        """The client was refused with this error."""
        worked, said = self.nfs(*call)
        self.assertFalse(worked, f'it worked: {said}')
        self.assertIn(why, said)

    def clients(self, *subnets):
        """In each subnet there is a friend and a stranger."""
        for subnet in subnets:
            self.machine.client(f'friend-{subnet}', subnet, 101)
            self.machine.client(f'stranger-{subnet}', subnet, 102)

    def addresses(self):
        """Return the addresses that are in use, as the database has them."""
        with contextlib.closing(sqlite3.connect(self.machine.state / 'lib' / 'manila_lite.sqlite')) as db:
            return sorted(row[0] for row in db.execute('SELECT ip_address FROM network_allocations'))

    def remove(self, network, *shares, servers=()):
        """Shares, servers and the network are gone."""
        for share in shares:
            self.lite.ok('DELETE', f'/shares/{share}')
        for share in shares:
            self.lite.wait(f'/shares/{share}', 'share', 'gone', 120)
        for server in servers:
            self.lite.ok('DELETE', f'/share-servers/{server}')
            self.lite.wait(f'/share-servers/{server}', 'share_server', 'gone', 120)
        path = f'/share-networks/{network}'
        for subnet in self.lite.ok('GET', path)['share_network']['share_network_subnets'][1:]:
            self.lite.ok('DELETE', f'{path}/subnets/{subnet["id"]}')
        self.lite.ok('DELETE', path)

    # Shown ------------------------------------------------------------------------------------

    def test_rules_a_third_subnet_a_reboot_and_nothing_left(self):
        network = self.network()
        share, server = self.share(network)
        directory = self.locations(share)[0][0].partition(':')[2]
        self.assertEqual([(f'{FOUR}:{directory}', True), (f'[{SIX}]:{directory}', False)], self.locations(share))
        self.clients('four', 'six')
        self._rules(share, directory)
        self._third(network, share, directory)
        before = self.locations(share)
        self._reboot(share, directory)
        self.assertEqual(before, self.locations(share))
        self.assertEqual([FOUR, MORE, SIX], self.addresses())
        for name in ('friend-four', 'stranger-four', 'friend-six', 'stranger-six', 'friend-more', 'stranger-more'):
            self.machine.unplug(name)
        self.remove(network, share, servers=[server])
        self.assertEqual([], self.addresses())
        self.assertEqual([], [space for space in base.command('ip', 'netns').split() if space in self.machine.spaces])

    def _rules(self, share, directory):
        """Each rule lets in one family, at its level."""
        self.refused('NOENT', 'friend-four', FOUR, directory, 'list')
        self.grant(share, server_base.address('four', 101))
        self.works('friend-four', FOUR, directory, 'write', 'f', 'hello')
        self.refused('NOENT', 'friend-six', SIX, directory, 'list')
        self.grant(share, server_base.address('six', 101), 'ro')
        self.assertEqual('hello', self.works('friend-six', SIX, directory, 'read', 'f'))
        self.refused('ROFS', 'friend-six', SIX, directory, 'write', 'g', 'no')
        bad = self.grant(share, 'fd66:2::/112', ends='error')
        self.refused('NOENT', 'stranger-six', SIX, directory, 'list')
        self.lite.ok('POST', f'/shares/{share}/action', {'deny_access': {'access_id': bad}})
        self.lite.wait(f'/share-access-rules/{bad}', 'access', 'gone', 120, field='state')
        for subnet, server in (('four', FOUR), ('six', SIX)):
            self.refused('NOENT', f'stranger-{subnet}', server, directory, 'list')

    def _third(self, network, share, directory):
        """A subnet comes while a client writes; one that overlaps does not, and takes no address."""
        self.assertEqual(409, self.add_subnet(network, 'net-same', 'same'))
        self.assertEqual([FOUR, SIX], self.addresses())
        writer = nfs_writer.Writer(FOUR, directory, self.machine.space('friend-four'))
        self.addCleanup(writer.end)
        writer.goes_on()
        self.assertEqual(200, self.add_subnet(network, 'a-flat-one', 'more'))
        self.lite.wait(f'/share-networks/{network}', 'share_network', 'active', 120)
        writer.goes_on()
        self.assertEqual([], writer.end())
        self.assertEqual([(f'{FOUR}:{directory}', True), (f'{MORE}:{directory}', False), (f'[{SIX}]:{directory}', False)],
                         self.locations(share))
        self.clients('more')
        self.grant(share, server_base.address('more', 101))
        self.assertEqual(sorted(['f', *writer.written]), self.works('friend-more', MORE, directory, 'list').split())
        self.refused('NOENT', 'stranger-more', MORE, directory, 'list')

    def _reboot(self, share, directory):
        """The server is made again from the database alone, and its clients find what they had."""
        self.power_off()
        self.assertEqual([], [trace for trace in self.machine.traces() if not trace.startswith('ml')])
        self.lite.start(120)
        for subnet, server in (('four', FOUR), ('six', SIX), ('more', MORE)):
            self.until(lambda: self.machine.fabric in base.command('ip', 'netns'), 'the fabric is there')
            self.until(lambda name=subnet: server_base.bridge_of(server_base.network(name, 1)) in base.command(
                'ip', '-n', self.machine.fabric, 'link'), 'the bridge is there')
            self.clients(subnet)
            self.until(lambda name=subnet, at=server: self.nfs(f'friend-{name}', at, directory, 'list')[0], 'it serves')
            self.assertEqual('hello', self.works(f'friend-{subnet}', server, directory, 'read', 'f'))
            self.refused('NOENT', f'stranger-{subnet}', server, directory, 'list')
        self.refused('ROFS', 'friend-six', SIX, directory, 'write', 'g', 'no')

    def test_two_networks_of_the_same_addresses_are_apart(self):
        """Addresses are given once in a subnet, and again when they were given back."""
        first, second = self.network(), self.network()
        (one, server), (two, other) = self.share(first), self.share(second)
        self.assertNotEqual(server, other)
        self.assertEqual(4, len(set(self.addresses())))
        self.remove(first, one, servers=[server])
        self.assertEqual(2, len(self.addresses()))
        three = self.network()
        share, again = self.share(three)
        self.assertEqual([True, False], [preferred for _, preferred in self.locations(share)])
        self.assertIn(FOUR, self.addresses())
        self.remove(second, two, servers=[other])
        self.remove(three, share, servers=[again])
        self.assertEqual([], self.addresses())
        self.assertEqual([], [space for space in base.command('ip', 'netns').split() if space in self.machine.spaces])
