# SPDX-License-Identifier: Apache-2.0
"""Share servers with real storage, through the API: the first share, a new subnet, a reboot, the deletion."""

from manila_lite.tests import nfs_client, nfs_writer
from manila_lite.tests.functional import manage
from manila_lite.tests.functional.linux import api_base, base, server_base

FOUR, SIX, MORE = (server_base.address(subnet, 5) for subnet in ('four', 'six', 'more'))


class ApiServers(api_base.ApiTest):
    def test_share_is_served_in_a_new_subnet_and_again_after_a_reboot(self):
        network = self.network()
        share, server = self.share(network)
        directory = self.locations(share)[0][0].partition(':')[2]
        self.assertEqual(
            [(f'{FOUR}:{directory}', True), (f'[{SIX}]:{directory}', False)], self.locations(share)
        )
        self.clients('four', 'six')
        self._rules(share, directory)
        self._third(network, share, directory)
        before = self.locations(share)
        self._reboot(share, directory)
        self.assertEqual(before, self.locations(share))
        self.assertEqual([FOUR, MORE, SIX], self.addresses())
        for name in (
            'friend-four',
            'stranger-four',
            'friend-six',
            'stranger-six',
            'friend-more',
            'stranger-more',
        ):
            self.machine.unplug(name)
        self.remove(network, share, servers=[server])
        self.assertEqual([], self.addresses())
        self.assertEqual(
            [], [space for space in base.command('ip', 'netns').split() if space in self.machine.spaces]
        )

    def _rules(self, share, directory):
        """Check that each rule admits one address family, at its level."""
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
        self.lite.wait(f'/share-access-rules/{bad}', 'access', 'gone', field='state')
        for subnet, server in (('four', FOUR), ('six', SIX)):
            self.refused('NOENT', f'stranger-{subnet}', server, directory, 'list')

    def _third(self, network, share, directory):
        """Add a subnet while a client writes; a subnet that overlaps is refused and takes no address."""
        self.assertEqual(409, self.add_subnet(network, 'net-same', 'same'))
        self.assertEqual([FOUR, SIX], self.addresses())
        writer = nfs_writer.Writer(
            nfs_client.Session(FOUR, directory, netns=self.machine.space('friend-four'))
        )
        self.addCleanup(writer.end)
        writer.goes_on()
        self.assertEqual(200, self.add_subnet(network, 'a-flat-one', 'more'))
        self.lite.wait(f'/share-networks/{network}', 'share_network', 'active')
        writer.goes_on()
        self.assertEqual([], writer.end())
        self.assertEqual(
            [(f'{FOUR}:{directory}', True), (f'{MORE}:{directory}', False), (f'[{SIX}]:{directory}', False)],
            self.locations(share),
        )
        self.clients('more')
        self.grant(share, server_base.address('more', 101))
        self.assertEqual(
            sorted(['f', *writer.written]), self.works('friend-more', MORE, directory, 'list').split()
        )
        self.refused('NOENT', 'stranger-more', MORE, directory, 'list')

    def _reboot(self, share, directory):
        """Reboot: the server is set up again from the database alone, and its clients find their data."""
        self.power_off()
        self.assertEqual([], [trace for trace in self.machine.traces() if not trace.startswith('ml')])
        self.lite.start()
        for subnet, server in (('four', FOUR), ('six', SIX), ('more', MORE)):
            self.bridged(subnet)
            self.clients(subnet)
            self.until(
                lambda name=subnet, at=server: self.nfs(f'friend-{name}', at, directory, 'list')[0],
                'it serves',
            )
            self.assertEqual('hello', self.works(f'friend-{subnet}', server, directory, 'read', 'f'))
            self.refused('NOENT', f'stranger-{subnet}', server, directory, 'list')
        self.refused('ROFS', 'friend-six', SIX, directory, 'write', 'g', 'no')

    def test_server_in_error_serves_again_after_a_reboot(self):
        """Check that a client mounts a share of a server in error after a reboot, and that the doctor ends the error
        (issue 19, 2).
        """
        network = self.network()
        share, server = self.share(network)
        directory = self.locations(share)[0][0].partition(':')[2]
        self.clients('four')
        self.grant(share, server_base.address('four', 101))
        self.works('friend-four', FOUR, directory, 'write', 'f', 'hello')
        self.lite.ok('POST', f'/share-servers/{server}/action', {'reset_status': {'status': 'error'}})
        self.power_off()
        self.lite.start()
        self.until(lambda: f'manila-{server}' in base.command('ip', 'netns'), 'the server is there')
        self.bridged('four')
        self.clients('four')
        self.until(lambda: self.nfs('friend-four', FOUR, directory, 'list')[0], 'it serves')
        self.assertEqual('hello', self.works('friend-four', FOUR, directory, 'read', 'f'))
        self.refused('NOENT', 'stranger-four', FOUR, directory, 'list')
        self.until(
            lambda: manage.run(self.machine.state / 'lite.conf', 'manage', 'doctor', '--fix')[0] == 0,
            'all is well',
        )
        self.lite.wait(f'/share-servers/{server}', 'share_server', 'active')
        self.assertEqual('hello', self.works('friend-four', FOUR, directory, 'read', 'f'))
        for name in ('friend-four', 'stranger-four'):
            self.machine.unplug(name)
        self.remove(network, share, servers=[server])

    def test_subnet_that_cannot_be_added_leaves_the_server_as_it_was(self):
        """Check that a client writes without a pause while a subnet fails, that nothing of it is left, and that the same
        request succeeds once the cause is gone.
        """
        network = self.network()
        share, server = self.share(network)
        directory = self.locations(share)[0][0].partition(':')[2]
        self.clients('four')
        self.grant(share, server_base.address('four', 101))
        before, interfaces = self.locations(share), self._interfaces(server)
        writer = nfs_writer.Writer(
            nfs_client.Session(FOUR, directory, netns=self.machine.space('friend-four'))
        )
        self.addCleanup(writer.end)
        writer.goes_on()
        bridge = server_base.bridge_of(server_base.network('more', 1))
        fabric = ('ip', '-n', self.machine.fabric, 'link')
        base.command(
            *fabric, 'add', bridge, 'type', 'veth', 'peer', 'name', 'blocker'
        )  # no bridge can have its name now
        self.assertEqual(200, self.add_subnet(network, 'a-flat-one', 'more'))
        subnet = self._settled(network)
        self.assertEqual('The subnet could not be added to a share server.', subnet['error'])
        self.assertEqual(
            ('active', 'active'),
            (
                self.lite.ok('GET', f'/share-servers/{server}')['share_server']['status'],
                self.lite.ok('GET', f'/shares/{share}')['share']['access_rules_status'],
            ),
        )
        self.assertEqual(
            (before, interfaces, [FOUR, SIX]),
            (self.locations(share), self._interfaces(server), self.addresses()),
        )
        base.command(*fabric, 'delete', bridge)
        self.assertEqual(200, self.add_subnet(network, 'a-flat-one', 'more'))
        settled = self._settled(network)
        self.assertEqual((subnet['id'], False), (settled['id'], 'error' in settled))
        self.assertEqual(3, len(self.locations(share)))
        writer.goes_on()
        self.assertEqual([], writer.end())
        for name in ('friend-four', 'stranger-four'):
            self.machine.unplug(name)
        self.remove(network, share, servers=[server])

    def _interfaces(self, server):
        """Return the names of the interfaces in the server's namespace."""
        return sorted(
            line.split(':')[1]
            for line in base.command('ip', '-n', f'manila-{server}', '-o', 'link').splitlines()
        )

    def _settled(self, network):
        """Wait until the network is active again; return its subnet in the flat network."""
        self.lite.wait(f'/share-networks/{network}', 'share_network', 'active')
        subnets = self.lite.ok('GET', f'/share-networks/{network}/subnets')['share_network_subnets']
        [subnet] = [subnet for subnet in subnets if subnet['neutron_subnet_id'] == 'more']
        return subnet

    def test_address_is_allocated_once_and_again_after_its_release(self):
        """Check that an address is allocated once in a subnet, and again after its release."""
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
        self.assertEqual(
            [], [space for space in base.command('ip', 'netns').split() if space in self.machine.spaces]
        )
