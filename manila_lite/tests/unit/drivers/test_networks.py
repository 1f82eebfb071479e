# SPDX-License-Identifier: Apache-2.0
"""Networks that make no sense are refused with a text that names the mistake."""

import dataclasses

import testtools

from manila_lite import errors, values
from manila_lite.drivers import networks

FOUR = values.Allocation(
    'a4', '10.0.0.5', '10.0.0.0/24', 4, gateway='10.0.0.1', mtu=1500, mac_address='fa:16:3e:00:00:01'
)
SIX = values.Allocation('a6', 'fd00::5', 'fd00::/64', 6, gateway='fe80::1')


def subnet(subnet_id: str, allocation: values.Allocation, *more: values.Allocation) -> values.ServerNetwork:
    return values.ServerNetwork(subnet_id, allocation.cidr, allocation.ip_version, (allocation, *more))


class VetTest(testtools.TestCase):
    def test_sound_servers_pass(self):
        self.assertIsNone(networks.vet(values.ShareServer('s', (subnet('n4', FOUR), subnet('n6', SIX)))))
        host_bits = dataclasses.replace(FOUR, cidr='10.0.0.7/24')
        self.assertIsNone(networks.vet(values.ShareServer('s', (subnet('n4', host_bits, FOUR),))))

    def test_odd_networks_are_refused_by_name(self):
        for changes, text in (
            ({'ip_address': '10.0.1.5'}, 'not in 10.0.0.0/24'),
            ({'ip_address': 'x'}, "'x'"),
            ({'cidr': '10.0.0.0/33'}, '10.0.0.0/33'),
            ({'gateway': 'fd00::1'}, 'fd00::1'),
            ({'mtu': 67}, 'MTU of 67'),
            ({'mtu': 1}, 'MTU of 1 '),
            ({'mac_address': 'fa:16'}, 'fa:16'),
            ({'ip_address': 'fd00::5'}, 'not in'),
        ):
            odd = values.ShareServer(
                's', (subnet('n6', SIX), subnet('n4', dataclasses.replace(FOUR, **changes)))
            )
            self.assertIn(text, str(self.assertRaises(errors.Final, networks.vet, odd)))

    def test_admin_addresses_are_checked_too(self):
        odd = dataclasses.replace(SIX, mtu=1279)
        server = values.ShareServer('s', (subnet('n4', FOUR),), admin_allocations=(odd,))
        self.assertIn('1279', str(self.assertRaises(errors.Final, networks.vet, server)))

    def test_server_without_addresses_is_refused(self):
        for subnets in ((), (values.ServerNetwork('n', '10.0.0.0/24', 4),)):
            self.assertRaises(errors.Final, networks.vet, values.ShareServer('s', subnets))

    def test_subnets_that_overlap_are_refused(self):
        server = values.ShareServer('s', (subnet('n4', FOUR), subnet('n6', SIX)))
        for cidr, fits in (
            ('10.0.1.0/24', True),
            ('10.0.0.0/8', False),
            ('10.0.0.128/25', False),
            ('fd00:1::/64', True),
            ('fd00::/16', False),
        ):
            new = values.ServerNetwork('new', cidr, 6 if ':' in cidr else 4)
            if fits:
                self.assertIsNone(networks.vet_new(server, new))
            else:
                refused = self.assertRaises(errors.Final, networks.vet_new, server, new)
                self.assertIn('new', str(refused))
                self.assertIn(cidr, str(refused))
        self.assertIsNone(networks.vet_new(server, subnet('n4', FOUR)))

    def test_one_subnet_of_the_plugin_may_be_there_several_times(self):
        """Check that subnets of a share network may be the same one of the plugin, in which no address is given twice."""
        place = {'neutron_net_id': 'net', 'neutron_subnet_id': 'four'}
        first = dataclasses.replace(subnet('one', FOUR), **place)
        second = dataclasses.replace(subnet('two', dataclasses.replace(FOUR, ip_address='10.0.0.6')), **place)
        self.assertIsNone(networks.vet(values.ShareServer('s', (first, second))))
        for other in ({'neutron_subnet_id': 'other'}, {'neutron_net_id': 'other'}):
            overlapping = dataclasses.replace(second, **other)
            self.assertRaises(errors.Final, networks.vet, values.ShareServer('s', (first, overlapping)))


class ShareServerTest(testtools.TestCase):
    def test_addresses_are_ordered_ipv4_ipv6_admin(self):
        second = dataclasses.replace(FOUR, id='b4', ip_address='10.1.0.5', cidr='10.1.0.0/24')
        admin = dataclasses.replace(FOUR, id='admin')
        server = values.ShareServer(
            's', (subnet('n6', SIX), subnet('n4', FOUR), subnet('m4', second)), (admin,)
        )
        self.assertEqual(['a4', 'b4', 'a6', 'admin'], [allocation.id for allocation in server.allocations])

    def test_a_new_subnet_joins_and_a_known_one_is_replaced(self):
        server = values.ShareServer('s', (subnet('n6', SIX),)).joined(subnet('n4', FOUR))
        self.assertEqual(['n6', 'n4'], [network.subnet_id for network in server.networks])
        again = server.joined(values.ServerNetwork('n6', 'fd01::/64', 6))
        self.assertEqual(['fd01::/64', '10.0.0.0/24'], [network.cidr for network in again.networks])

    def test_secrets_are_not_shown(self):
        self.assertNotIn('hush', repr(values.SecurityService('i', 'ldap', user='joe', password='hush')))


class VetSubnet(testtools.TestCase):
    """A subnet that servers shall be added to."""

    def vet(self, **changes):
        networks.vet_subnet(
            values.ServerNetwork(
                **{
                    'subnet_id': '',
                    'neutron_subnet_id': 'new',
                    'cidr': '10.0.0.0/24',
                    'ip_version': 4,
                    **changes,
                }
            )
        )

    def test_usable_subnets_pass(self):
        six = {'cidr': 'fd00::/64', 'ip_version': 6}
        for changes in (
            {},
            {'mtu': 68, 'gateway': '10.0.0.254'},
            {'mtu': 0},
            {**six, 'mtu': 1280, 'gateway': 'fd00::1'},
            {**six, 'gateway': 'fe80::1'},
            {'network_type': 'flat', 'segmentation_id': 5000},
            *({'network_type': 'vlan', 'segmentation_id': number} for number in (None, 1, 4094)),
            {'network_type': 'vxlan', 'segmentation_id': 2**24 - 1},
        ):
            self.vet(**changes)

    def test_unusable_subnets_are_refused_with_the_reason(self):
        six = {'cidr': 'fd00::/64', 'ip_version': 6}
        for changes, text in (
            ({**six, 'mtu': 1279}, 'an MTU of 1279 is too small for IPv6, which needs 1280'),
            ({'mtu': 67}, 'needs 68'),
            ({'gateway': '10.0.1.1'}, 'gateway 10.0.1.1 is not in 10.0.0.0/24'),
            ({'gateway': 'fe80::1'}, 'fe80::1'),
            ({**six, 'gateway': 'fd00:0:0:1::1'}, 'is not in fd00::/64'),
            ({'gateway': 'x'}, "'x'"),
            ({'cidr': 'y'}, "'y'"),
            ({'network_type': 'vlan', 'segmentation_id': 4095}, 'segment 4095 is not between 1 and 4094'),
            ({'network_type': 'vlan', 'segmentation_id': 0}, 'segment 0 '),
            ({'network_type': 'geneve', 'segmentation_id': 2**24}, 'as geneve needs'),
        ):
            said = str(self.assertRaises(errors.Final, self.vet, **changes))
            self.assertIn(text, said)
            self.assertTrue(said.startswith('Subnet new: '), said)
