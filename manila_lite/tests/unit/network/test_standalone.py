# SPDX-License-Identifier: Apache-2.0
"""The standalone plugin: the meaning of a file of networks, and the addresses that are given away."""

from pathlib import Path

import fixtures
import testscenarios
import testtools
from oslo_config import cfg

from manila_lite import conf as options
from manila_lite import errors
from manila_lite.network import load
from manila_lite.network.interface import Address, overlap
from manila_lite.tests.factories import networks


class PluginTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.file = Path(self.useFixture(fixtures.TempDir()).path) / 'networks.yaml'
        self.conf = options.register(cfg.ConfigOpts())
        self.conf([])
        self.conf.set_override('file', str(self.file), 'standalone_network')

    def plugin(self, text=networks.FILE):
        self.file.write_text(text)
        return load.make(self.conf)


class Describe(PluginTest):
    def test_ipv4_subnet_has_the_values_of_the_file(self):
        subnet = self.plugin().describe('blue', 'blue-v4', 'p')
        self.assertEqual(
            ('blue', 'blue-v4', '10.10.0.0/24', 4, '10.10.0.1', 1450, 'vlan', 100, None),
            tuple(vars(subnet).values()),
        )

    def test_ipv6_subnet_has_the_values_of_the_file(self):
        subnet = self.plugin().describe('blue', 'blue-v6', 'p')
        self.assertEqual(('fd10::/64', 6, 'fd10::1'), (subnet.cidr, subnet.ip_version, subnet.gateway))

    def test_omitted_values_are_none(self):
        subnet = self.plugin().describe('red', 'red-v4', 'p')
        self.assertEqual(
            (None, None, None, None),
            (subnet.gateway, subnet.mtu, subnet.network_type, subnet.segmentation_id),
        )

    def test_error_names_the_unknown_network_or_subnet(self):
        plugin = self.plugin()
        for net, subnet, named in (
            ('black', 'blue-v4', 'black'),
            ('blue', 'red-v4', 'red-v4'),
            ('blue', 'x', 'x'),
        ):
            refused = self.assertRaises(errors.Invalid, plugin.describe, net, subnet, 'p')
            self.assertIn(named, str(refused))

    def test_network_of_one_project_is_refused_to_others(self):
        plugin = self.plugin()
        self.assertEqual('10.30.0.0/24', plugin.describe('green', 'green-v4', 'first').cidr)
        for other in ('second', None):
            self.assertRaises(errors.Invalid, plugin.describe, 'green', 'green-v4', other)

    def test_smallest_and_largest_values_are_accepted(self):
        for name, vlan, mtu in (('n', 1, 68), ('n' * 36, 2**24 - 1, 65535)):
            plugin = self.plugin(
                f'networks: [{{id: {name}, segmentation_id: {vlan}, mtu: {mtu}, subnets: ['
                f'{{id: {name}, cidr: "::/64", gateway: "::", ranges: [["::", "::"]]}}]}}]'
            )
            subnet = plugin.describe(name, name, 'p')
            self.assertEqual(('::', vlan, mtu), (subnet.gateway, subnet.segmentation_id, subnet.mtu))

    def test_networks_are_refused_if_no_file_is_configured(self):
        self.conf.clear_override('file', 'standalone_network')
        self.assertRaises(errors.Invalid, load.make(self.conf).describe, 'blue', 'blue-v4', 'p')

    def test_a_changed_file_is_read_again(self):
        self.plugin('networks: []')
        self.assertEqual(4, self.plugin().describe('blue', 'blue-v4', 'p').ip_version)


class Default(PluginTest):
    """The default subnet."""

    COMMON = '{id: c, default: true, subnets: [{id: c4, cidr: 10.0.0.0/24}, {id: c6, cidr: "::/64"}]}'
    OWN = '{id: o, default: true, projects: [first, second], subnets: [{id: o4, cidr: 10.0.0.0/24}]}'
    OTHER = '{id: x, default: false, subnets: [{id: x4, cidr: 10.0.0.0/24}]}'

    def default(self, project, *nets):
        found = self.plugin(f'networks: [{", ".join(nets)}]').find_default(project)
        return found and (found.neutron_net_id, found.neutron_subnet_id)

    def test_there_is_none_unless_the_file_says_so(self):
        self.assertIsNone(self.plugin().find_default('p'))
        self.assertIsNone(self.default('p', self.OTHER))

    def test_first_subnet_of_the_default_network_is_for_all(self):
        for project in ('p', None):
            self.assertEqual(('c', 'c4'), self.default(project, self.OTHER, self.COMMON))

    def test_default_network_of_a_project_comes_first(self):
        for nets in ((self.COMMON, self.OWN), (self.OWN, self.COMMON)):
            self.assertEqual(('o', 'o4'), self.default('second', *nets))
            self.assertEqual(('c', 'c4'), self.default('third', *nets))

    def test_default_network_of_a_project_is_for_no_other(self):
        for project in ('third', None):
            self.assertIsNone(self.default(project, self.OWN))

    def test_default_network_is_not_described_instead_of_an_unknown_one(self):
        """Check that an option with a mistake, such as the administrators' network, does not lead to the users' network."""
        plugin = self.plugin(f'networks: [{self.COMMON}]')
        self.assertEqual(
            'network_not_known', self.assertRaises(errors.Invalid, plugin.describe, 'x', 'c4', None).code
        )


class Allocate(PluginTest):
    def allocate(self, subnet, count, taken=(), net='blue', text=networks.FILE, owner='server'):
        plugin = self.plugin(text)
        addresses = plugin.allocate(plugin.describe(net, subnet, 'p'), count, taken=taken, owner=owner)
        return [address.ip_address for address in addresses]

    def test_network_and_gateway_addresses_are_not_allocated(self):
        for owner in map(str, range(20)):
            self.assertEqual(
                {f'10.10.1.{number}' for number in range(2, 7)},
                {*self.allocate('blue-small', 5, owner=owner)},
            )

    def test_owners_get_addresses_apart_and_the_same_again(self):
        """The address of a server that was unmanaged is not given to the next one."""
        found = [self.allocate('blue-v6', 1, owner=f'server {number}') for number in range(20)]
        self.assertEqual(20, len({text for (text,) in found}))
        self.assertEqual(found[0], self.allocate('blue-v6', 1, owner='server 0'))

    def test_taken_addresses_are_skipped(self):
        (first,) = self.allocate('blue-v4', 1)
        self.assertNotIn(first, self.allocate('blue-v4', 100, taken={first}))
        self.assertEqual(
            ['10.10.1.4'],
            self.allocate('blue-small', 1, taken={f'10.10.1.{number}' for number in (2, 3, 5, 6)}),
        )

    def test_full_subnet_is_refused_by_name(self):
        full = self.assertRaises(
            errors.Final, self.allocate, 'blue-small', 2, taken={f'10.10.1.{n}' for n in range(2, 6)}
        )
        self.assertEqual('SUBNET_FULL', full.detail)
        self.assertIn('blue-small', str(full))

    def test_only_addresses_of_the_ranges_are_allocated_in_order(self):
        text = (
            'networks: [{id: n, subnets: [{id: s, cidr: 10.0.0.0/24, gateway: 10.0.0.9, ranges: '
            '[[10.0.0.8, 10.0.0.10], [10.0.0.20, 10.0.0.20]]}]}]'
        )
        self.assertEqual(['10.0.0.8', '10.0.0.10', '10.0.0.20'], self.allocate('s', 3, net='n', text=text))
        self.assertRaises(errors.Final, self.allocate, 's', 4, net='n', text=text)

    def test_subnet_of_one_address_allocates_it(self):
        text = 'networks: [{id: n, subnets: [{id: s, cidr: 10.0.0.7/32}]}]'
        self.assertEqual(['10.0.0.7'], self.allocate('s', 1, net='n', text=text))

    def test_allocation_fails_for_a_subnet_removed_from_the_file(self):
        subnet = self.plugin().describe('blue', 'blue-v4', 'p')
        gone = self.assertRaises(
            errors.Final, self.plugin('networks: []').allocate, subnet, 1, taken=(), owner='s'
        )
        self.assertIn('blue-v4', str(gone))

    def test_plugin_keeps_no_record_of_allocated_or_freed_addresses(self):
        """Addresses are free when their owner forgets them: the plugin keeps neither those it gave nor those given back."""
        plugin = self.plugin()
        subnet = plugin.describe('blue', 'blue-v4', 'p')
        [first] = plugin.allocate(subnet, 1, taken=(), owner='server')
        plugin.free([Address('192.0.2.1')])
        self.assertEqual([first], plugin.allocate(subnet, 1, taken=(), owner='server'))
        plugin.free([first])
        [second] = plugin.allocate(subnet, 1, taken={first.ip_address}, owner='server')
        self.assertNotEqual(first, second)
        self.assertEqual(networks.FILE, self.file.read_text())


class Mistakes(testscenarios.WithScenarios, PluginTest):
    """Each mistake is one line that names the option, the file, and the mistake."""

    scenarios = [
        (what, {'text': text, 'words': words})
        for what, text, words in (
            ('no YAML', 'networks: [', ()),
            ('no mapping', '[]', ('object',)),
            ('no id', 'networks: [{subnets: [{id: s, cidr: 10.0.0.0/24}]}]', ('networks.0', 'id')),
            (
                'unknown key',
                'networks: [{id: n, colour: x, subnets: [{id: s, cidr: 10.0.0.0/24}]}]',
                ('colour',),
            ),
            (
                'id too long',
                f'networks: [{{id: {"x" * 37}, subnets: [{{id: s, cidr: 10.0.0.0/24}}]}}]',
                ('networks.0.id', '36'),
            ),
            (
                'id no text',
                'networks: [{id: 7, subnets: [{id: s, cidr: 10.0.0.0/24}]}]',
                ('networks.0.id', 'string'),
            ),
            (
                'empty id',
                'networks: [{id: "", subnets: [{id: s, cidr: 10.0.0.0/24}]}]',
                ('networks.0.id', '1'),
            ),
            ('no subnets', 'networks: [{id: n, subnets: []}]', ('networks.0.subnets',)),
            (
                'too short for an address',
                'networks: [{id: n, subnets: [{id: s, cidr: "1"}]}]',
                ('networks.0.subnets.0.cidr', '2'),
            ),
            (
                'empty gateway',
                'networks: [{id: n, subnets: [{id: s, cidr: 10.0.0.0/24, gateway: ""}]}]',
                ('networks.0.subnets.0.gateway', '2'),
            ),
            *(
                (
                    f'{name} {number}',
                    f'networks: [{{id: n, {name}: {number}, subnets: [{{id: s, cidr: 10.0.0.0/24}}]}}]',
                    (f'networks.0.{name}', str(most)),
                )
                for name, number, most in (
                    ('segmentation_id', 0, 1),
                    ('segmentation_id', 2**24, 2**24 - 1),
                    ('mtu', 67, 68),
                    ('mtu', 65536, 65535),
                )
            ),
            ('cidr', 'networks: [{id: n, subnets: [{id: s, cidr: 10.0.0.1/24}]}]', ('subnet s', 'host bits')),
            (
                'gateway',
                'networks: [{id: n, subnets: [{id: s, cidr: 10.0.0.0/24, gateway: 10.0.1.1}]}]',
                ('10.0.1.1', 'subnet s'),
            ),
            (
                'gateway of the other family',
                'networks: [{id: n, subnets: [{id: s, cidr: 10.0.0.0/24, gateway: "fd00::1"}]}]',
                ('fd00::1',),
            ),
            (
                'range',
                'networks: [{id: n, subnets: [{id: s, cidr: 10.0.0.0/24, ranges: [[10.0.0.9, 10.0.0.2]]}]}]',
                ('ranges',),
            ),
            (
                'no range',
                'networks: [{id: n, subnets: [{id: s, cidr: 10.0.0.0/24, ranges: []}]}]',
                ('networks.0.subnets.0.ranges', '1'),
            ),
            (
                'a range of one address',
                'networks: [{id: n, subnets: [{id: s, cidr: 10.0.0.0/24, ranges: [[10.0.0.2]]}]}]',
                ('networks.0.subnets.0.ranges.0', '2'),
            ),
            (
                'a range of three',
                'networks: [{id: n, subnets: [{id: s, cidr: "::/64", ranges: [["::2", "::3", "::4"]]}]}]',
                ('networks.0.subnets.0.ranges.0', '2'),
            ),
            (
                'a subnet twice',
                'networks: [{id: n, subnets: [{id: s, cidr: 10.0.0.0/24}, {id: s, cidr: 10.1.0.0/24}]}]',
                ('subnet s', 'twice'),
            ),
            (
                'a network twice',
                'networks: [{id: n, subnets: [{id: s, cidr: "::/64"}]}, {id: n, subnets: [{id: t, cidr: "::/9"}]}]',
                ('network n', 'twice'),
            ),
            (
                'overlap',
                'networks: [{id: n, subnets: [{id: s, cidr: 10.0.0.0/24}, {id: t, cidr: 10.0.0.128/25}]}]',
                ('s and t', 'overlap'),
            ),
            (
                'default is no boolean',
                'networks: [{id: n, default: 7, subnets: [{id: s, cidr: 10.0.0.0/24}]}]',
                ('networks.0.default', 'boolean'),
            ),
            *(
                (
                    f'two default networks of {whose}',
                    (
                        f'networks: [{{id: n, default: true{one}, subnets: &s [{{id: s, cidr: "::/64"}}]}}, '
                        f'{{id: m, default: true{other}, subnets: *s}}]'
                    ),
                    ('n and m', f'default network of {whose}'),
                )
                for whose, one, other in (
                    ('all projects', '', ''),
                    ('project q', ', projects: [p, q]', ', projects: [q]'),
                )
            ),
        )
    ]

    def test_mistake_is_reported_in_one_line_with_option_and_file(self):
        bad = str(self.assertRaises(errors.BadConfig, self.plugin, self.text))
        self.assertEqual(1, len(bad.splitlines()), bad)
        for word in ('[standalone_network] file', str(self.file), *self.words):
            self.assertIn(word, bad)


class Load(PluginTest):
    def test_missing_file_is_bad_config(self):
        self.assertIn(str(self.file), str(self.assertRaises(errors.BadConfig, load.make, self.conf)))

    def test_unknown_plugin_is_bad_config(self):
        self.conf.set_override('plugin', 'nonsense', 'network')
        bad = str(self.assertRaises(errors.BadConfig, load.make, self.conf))
        for word in ('[network] plugin', 'nonsense', 'standalone'):
            self.assertIn(word, bad)

    def test_networks_of_different_families_do_not_overlap(self):
        self.assertTrue(overlap('10.0.0.0/8', '10.1.0.0/16'))
        self.assertFalse(overlap('10.0.0.0/16', '10.1.0.0/16'))
        self.assertFalse(overlap('10.0.0.0/8', 'fd00::/8'))
