# SPDX-License-Identifier: Apache-2.0
"""Addresses that do not belong to the subnet from which they come: a share server in several subnets does not accept them."""

import concurrent.futures
import json
import subprocess

from manila_lite import values
from manila_lite.tests import nfs_client, waiting
from manila_lite.tests.functional.linux import base, server_base

#: Each subnet that an attacker is in, with the one whose addresses it takes.
PAIRS = (('four', 'more'), ('more', 'four'), ('six', 'more-six'), ('more-six', 'six'))
#: Seconds of a try that must not work; one that works is much faster.
TRY = 4


class Neighbours(server_base.ServerTest):
    """The attacker has taken the address of a subnet's gateway, and gets what the server sends to other networks."""

    def setUp(self):
        super().setUp()
        for subnet in ('more', 'more-six'):
            if subnet not in {network.subnet_id for network in self.server.networks}:
                self.grow(subnet)
        self.made = self.share()
        self.grant(self.made, *((server_base.address(victim, 77), 'rw') for _, victim in PAIRS))
        for subnet, victim in PAIRS:
            self.take_gateway(subnet, victim)

    def grow(self, subnet):
        """Add a subnet to the live server."""
        new = server_base.network(subnet, 5)
        self.driver.update_share_server_network_allocations(self.server, new, [], [])
        type(self).server = self.server.joined(new)

    def take_gateway(self, subnet, victim):
        """Add a host to the subnet that speaks to the server with an address of another subnet."""
        name = f'{subnet}-evil'
        self.machine.client(name, subnet, 1)
        self.addCleanup(self.machine.unplug, name)
        space, port, server = self.machine.space(name), self.port(name), server_base.address(subnet, 5)
        taken, length = server_base.address(victim, 77), '128' if ':' in server else '32'
        base.ip(
            '-n',
            space,
            'addr',
            'add',
            f'{taken}/{length}',
            'dev',
            port,
            *(('nodad',) if ':' in server else ()),
        )
        base.ip('-n', space, 'route', 'add', f'{server}/{length}', 'dev', port, 'src', taken)
        # The server may answer no question with the taken address, so the attacker asks none.
        base.ip('-n', space, 'neigh', 'add', server, 'lladdr', self.hardware_address(server), 'dev', port)

    def port(self, name):
        """Return the interface of a host."""
        return dict(self.machine.ports)[name]

    def hardware_address(self, address):
        """Return the MAC address of the server's interface."""
        for link in json.loads(
            base.command('ip', '-n', f'manila-{self.server.id}', '-json', 'address', 'show')
        ):
            if any(one.get('local') == address for one in link['addr_info']):
                return link['address']
        raise AssertionError(f'the server has no address {address}')

    def attack(self, subnet, *words, seconds=waiting.LIMIT):
        """Speak NFS with the server; return (success, output), or None if it does not answer."""
        try:
            return nfs_client.call(
                server_base.address(subnet, 5),
                f'/shares/{self.made.id}',
                *words,
                netns=self.machine.space(f'{subnet}-evil'),
                seconds=seconds,
            )
        except subprocess.TimeoutExpired:
            return None

    def no_attack_works(self):
        with concurrent.futures.ThreadPoolExecutor() as workers:
            answers = workers.map(lambda pair: self.attack(pair[0], 'list', seconds=TRY), PAIRS)
        self.assertEqual([None] * len(PAIRS), list(answers))

    def rules(self, *words):
        """Run ip(8) for the policy rules of the server, in both families."""
        return [
            base.command('ip', '-n', f'manila-{self.server.id}', family, 'rule', *words)
            for family in ('-4', '-6')
        ]

    def accept_all(self):
        """Remove the rules, as an older release would leave the server, or somebody by hand."""
        self.rules('add', 'priority', '0', 'lookup', 'local')

    def test_addresses_of_another_subnet_are_not_accepted(self):
        self.no_attack_works()
        for subnet in ('four', 'six'):
            self.machine.client(f'{subnet}-friend', subnet, 77)
            self.addCleanup(self.machine.unplug, f'{subnet}-friend')
            self.works(
                f'{subnet}-friend', server_base.address(subnet, 5), self.made, 'write', subnet, 'hello'
            )

    def test_ensure_heals_missing_rules_also_after_a_restart(self):
        self.accept_all()
        for subnet, _ in PAIRS:
            self.assertEqual((True, ''), self.attack(subnet, 'write', subnet, 'stolen'))
            self.assertEqual((True, 'stolen'), self.attack(subnet, 'read', subnet))
        self.assertIn('other subnets', ' '.join(self.ensured(self.driver)))
        self.no_attack_works()
        self.assertEqual((), self.ensured(self.driver), 'nothing is left to repair')
        self.rules('flush', 'priority', '10')
        restarted = self.machine.driver()
        restarted.setup()
        self.assertIn('other subnets', ' '.join(self.ensured(restarted)))
        self.no_attack_works()

    def ensured(self, driver):
        """Ensure the server; return the repairs."""
        result = driver.ensure_servers([self.server])[self.server.id]
        self.assertIsNone(result.error)
        return result.repaired

    def test_hosts_behind_a_gateway_are_accepted_on_each_interface(self):
        for subnet in ('four', 'more'):
            base.ip(
                '-n', self.machine.space(f'{subnet}-evil'), 'link', 'set', self.port(f'{subnet}-evil'), 'down'
            )
        router = self.machine.space('router')
        base.command(
            'nsenter', f'--net=/run/netns/{router}', 'sysctl', '--quiet', '--write', 'net.ipv4.ip_forward=1'
        )
        base.ip('-n', self.machine.fabric, 'link', 'add', 'outside', 'type', 'bridge')
        base.ip('-n', self.machine.fabric, 'link', 'set', 'outside', 'up')
        for subnet in ('four', 'more'):
            self.machine.client('router', subnet, 1)
        self.machine.plug('router', 'outside', '10.88.0.1/24')
        self.machine.plug('far', 'outside', '10.88.0.9/24')
        self.addCleanup(self.machine.unplug, 'router')
        base.ip('-n', self.machine.space('far'), 'route', 'add', 'default', 'via', '10.88.0.1')
        self.driver.update_access(self.made, [values.AccessRule('r', 'ip', '10.88.0.9', 'rw')])
        for subnet in ('four', 'more'):
            self.works('far', server_base.address(subnet, 5), self.made, 'write', subnet, 'far')
