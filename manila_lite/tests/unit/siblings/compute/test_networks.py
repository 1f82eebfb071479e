# SPDX-License-Identifier: Apache-2.0
"""The file of networks: addresses to give away, networks that a request may name, and the configuration for a guest."""

import itertools

import testtools

from manila_lite import errors
from manila_lite.siblings.compute import networks
from manila_lite.siblings.compute.drivers import metadata
from manila_lite.siblings.compute.drivers.interface import Nic, Server

FOUR = {'id': 'four', 'name': 'data', 'cidr': '192.0.2.0/29', 'gateway': '192.0.2.3', 'mtu': 1400}
SIX = {'id': 'six', 'cidr': 'fd66::/64', 'ranges': [['fd66::5', 'fd66::6'], ['fd66::9', 'fd66::9']]}


def known(*entries):
    """Return the networks of a document."""
    return networks.read({'networks': list(entries or (FOUR, SIX))})


class File(testtools.TestCase):
    def test_free_addresses_exclude_taken_gateway_and_out_of_range(self):
        four, six = known().values()
        self.assertEqual([f'192.0.2.{number}' for number in (1, 4, 5, 6)], list(four.free({'192.0.2.2'})))
        self.assertEqual(['fd66::5', 'fd66::6', 'fd66::9'], list(six.free(())))
        (one,) = known({'id': 'one', 'cidr': '192.0.2.9/32'}).values()
        self.assertEqual(['192.0.2.9'], list(one.free(())))
        self.assertEqual(
            1, len(list(itertools.islice(known({'id': 'v', 'cidr': 'fd00::/8'})['v'].free(()), 1)))
        )

    def test_only_usable_addresses_of_the_network_can_be_requested(self):
        four, six = known().values()
        self.assertEqual('fd66::77', six.fixed('FD66:0::0077'))
        for address in ('192.0.2.0', '192.0.2.7', '192.0.2.3', '192.0.2.9', 'fd66::5', 'x', '192.0.2.1/29'):
            self.assertRaises(errors.Invalid, four.fixed, address)

    def test_refusal_of_a_wrong_file_names_the_mistake(self):
        for entry, why in (
            ({'id': 'a'}, 'cidr'),
            ({'id': 'a', 'cidr': '192.0.2.1/29'}, 'host bits'),
            (FOUR, 'twice'),
            ({**SIX, 'name': 'data'}, 'twice'),
            ({**SIX, 'gateway': '192.0.2.1'}, 'gateway'),
            ({**SIX, 'ranges': [['fd66::6', 'fd66::5']]}, 'after its last'),
            ({**SIX, 'ranges': [['fd66::6', 'fd67::5']]}, 'fd67::5'),
            ({**SIX, 'more': 1}, 'networks'),
        ):
            self.assertIn(why, str(self.assertRaises(errors.Invalid, known, FOUR, entry)))
        for document in (None, [], {'networks': {}}):
            self.assertRaises(errors.Invalid, networks.read, document)

    def test_unusable_file_is_unavailable(self):
        self.assertEqual({}, networks.load(None))
        self.assertRaises(errors.Unavailable, networks.load, '/nonexistent/networks.yaml')


class Request(testtools.TestCase):
    def test_a_project_has_its_networks_and_those_of_all(self):
        there = known(
            FOUR, {**SIX, 'projects': ['p', 'q']}, {'id': 'none', 'cidr': 'fd67::/64', 'projects': []}
        )
        self.assertEqual(['four', 'six'], list(networks.of_project(there, 'p')))
        for project in ('r', None):
            self.assertEqual(['four'], list(networks.of_project(there, project)))

    def test_auto_none_and_lists_are_resolved(self):
        there = known()
        self.assertEqual(
            [], networks.wanted(None, there) + networks.wanted('none', there) + networks.wanted('auto', {})
        )
        self.assertEqual([(there['four'], None)], networks.wanted('auto', known(FOUR)))
        self.assertEqual(
            [(there['six'], 'fd66::5'), (there['four'], None)],
            networks.wanted([{'uuid': 'six', 'fixed_ip': 'fd66:0::5'}, {'uuid': 'four'}], there),
        )

    def test_ambiguous_and_unknown_networks_are_refused(self):
        self.assertRaises(errors.Conflict, networks.wanted, 'auto', known())
        self.assertRaises(errors.Invalid, networks.wanted, [{'uuid': 'data'}], known())

    def test_mac_addresses_are_random_with_the_openstack_prefix(self):
        self.assertRegex(networks.mac(), '^fa:16:3e(:[0-9a-f]{2}){3}$')
        self.assertNotEqual(1, len({networks.mac() for _ in range(20)}))


class Told(testtools.TestCase):
    def test_network_data_configures_the_guest(self):
        there = known()
        nics = tuple(
            Nic(**there[name].nic(address, 'fa:16:3e:00:00:01'))
            for name, address in (('four', '192.0.2.1'), ('six', 'fd66::5'))
        )
        document = metadata.network(Server('i', 'p', 'n', 64, 1, nics=nics))
        self.assertEqual([1400, 1500], [link['mtu'] for link in document['links']])
        self.assertEqual(
            {
                'id': 'network0',
                'type': 'ipv4',
                'link': 'nic0',
                'network_id': 'four',
                'ip_address': '192.0.2.1',
                'netmask': '255.255.255.248',
                'routes': [{'network': '0.0.0.0', 'netmask': '0.0.0.0', 'gateway': '192.0.2.3'}],
            },
            document['networks'][0],
        )
        self.assertEqual(
            ('ipv6', 'ffff:ffff:ffff:ffff::', []),
            tuple(document['networks'][1][key] for key in ('type', 'netmask', 'routes')),
        )

    def test_no_network_data_without_networks(self):
        files = metadata.files(Server('i', 'p', 'n', 64, 1), ())
        self.assertEqual([], [path for path in files if 'network' in path])
