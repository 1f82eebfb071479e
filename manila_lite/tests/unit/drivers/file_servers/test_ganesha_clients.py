# SPDX-License-Identifier: Apache-2.0
"""Access rules as CLIENT blocks: their order, and values that the parser of NFS-Ganesha cannot read."""

import ipaddress
import re

import testtools
from hypothesis import given, settings
from hypothesis import strategies as st

from manila_lite import values
from manila_lite.drivers.file_servers import ganesha_clients


def rules(*rows):
    return [values.AccessRule(f'r{number}', *row) for number, row in enumerate(rows)]


def written(*rows):
    """Return (clients, level) of each block."""
    return re.findall(r'CLIENT \{ Clients = ([^;]*); Access_Type = (\w\w);', _text(rows)[0])


def _text(rows):
    """Return all blocks as one text, and the results."""
    blocks, results = ganesha_clients.blocks(rules(*rows))
    return ''.join(block.text for block in blocks), results


class Blocks(testtools.TestCase):
    def test_longest_prefix_is_written_first_across_families(self):
        self.assertEqual(
            [
                ('10.0.0.1', 'RW'),
                ('fd00::1', 'RW'),
                ('10.0.0.0/24', 'RO'),
                ('fd00::/64', 'RO'),
                ('10.0.0.0/8', 'RW'),
            ],
            written(
                ('ip', '10.0.0.0/8', 'rw'),
                ('ip', '10.0.0.0/24', 'ro'),
                ('ip', '10.0.0.1', 'rw'),
                ('ip', 'fd00::/64', 'ro'),
                ('ip', 'fd00::1/128', 'rw'),
            ),
        )

    def test_network_of_all_addresses_is_written_as_two_halves(self):
        self.assertEqual([('0.0.0.0/1, 128.0.0.0/1', 'RO')], written(('ip', '0.0.0.0/0', 'ro')))
        self.assertEqual([('::/1, 8000::/1', 'RW')], written(('ip', '::/0', 'rw')))

    def test_host_bits_do_not_matter(self):
        self.assertEqual([('10.0.0.0/24', 'RO')], written(('ip', '10.0.0.77/24', 'ro')))

    def test_small_ipv6_networks_are_spelt_out(self):
        ((spelt, _),) = written(('ip', 'fd00::/126', 'rw'))
        self.assertEqual('fd00::, fd00::1, fd00::2, fd00::3', spelt)

    def test_same_clients_twice_is_read_only_whatever_the_order(self):
        rows = ('ip', '10.0.0.1/24', 'rw'), ('ip', '10.0.0.2/24', 'ro')
        self.assertEqual([('10.0.0.0/24', 'RO'), ('10.0.0.0/24', 'RW')], written(*rows))
        self.assertEqual(written(*rows), written(*reversed(rows)))

    def test_each_block_is_one_line_and_knows_its_rule(self):
        blocks, _ = ganesha_clients.blocks(
            rules(('ip', '10.0.0.0/8', 'rw'), ('user', 'joe', 'rw'), ('ip', 'fd00::/120', 'ro'))
        )
        self.assertEqual(['r2', 'r0'], [block.rule_id for block in blocks])
        for block in blocks:
            self.assertEqual(1, block.text.count('\n'))

    def test_address_that_stands_for_any_is_refused_and_not_written(self):
        """Refuse the word by which NFS-Ganesha admits everybody. A network that has the address is written as a network."""
        for to in ('0.0.0.0', '0.0.0.0/32', '0.0.0.0/255.255.255.255', '::', '::/128'):
            text, results = _text([('ip', to, 'rw'), ('ip', '10.0.0.1', 'ro')])
            self.assertEqual(1, text.count('CLIENT {'), to)
            self.assertIn('10.0.0.1;', text)
            self.assertIn('/0 for every client', results['r0'].error)
        self.assertEqual([('0.0.0.0/31', 'RW')], written(('ip', '0.0.0.0/31', 'rw')))

    def test_blocks_of_an_earlier_release_that_admit_everybody_are_taken_out(self):
        blocks, _ = ganesha_clients.blocks(
            rules(('ip', '10.0.0.1', 'rw'), ('ip', '0.0.0.0/0', 'ro'), ('ip', '::/120', 'ro'))
        )
        kept = ''.join(block.text for block in blocks)
        for to in ('0.0.0.0', '::'):
            self.assertEqual(
                kept,
                ganesha_clients.without_everybody(
                    f'  CLIENT {{ Clients = {to}; Access_Type = RW; Protocols = 4; }}\n{kept}'
                ),
            )

    def test_address_with_a_zone_is_refused_and_not_written(self):
        for zone in ('eth0', 'x; } EXPORT { Path = "/"; Access_Type = RW; ', 'a, ::/1'):
            text, results = _text([('ip', f'fe80::1%{zone}', 'rw')])
            self.assertEqual('', text)
            self.assertIn('interface', results['r0'].error)

    def test_unsupported_rules_are_refused_with_their_reasons(self):
        text, results = _text(
            (
                ('user', 'joe', 'rw'),
                ('ip', 'nonsense; }', 'rw'),
                ('ip', 'fd00::/112', 'ro'),
                ('ip', '::ffff:10.0.0.1', 'rw'),
                ('ip', '10.0.0.1', 'admin'),
                ('ip', '10.0.0.2', 'rw'),
            )
        )
        reasons = [results[f'r{number}'].error for number in range(6)]
        self.assertIn('type ip only', reasons[0])
        self.assertIn('nonsense', reasons[1])
        self.assertIn('/100', reasons[2])
        self.assertIn('IPv4', reasons[3])
        self.assertIn('levels', reasons[4])
        self.assertIsNone(reasons[5])
        self.assertEqual(1, text.count('CLIENT'))
        self.assertNotIn('nonsense', text)

    @settings(deadline=None, database=None)
    @given(
        st.lists(
            st.tuples(
                st.just('ip'),
                st.one_of(
                    st.ip_addresses().map(str),
                    st.tuples(st.ip_addresses(v=4), st.integers(0, 32)).map(
                        lambda pair: f'{pair[0]}/{pair[1]}'
                    ),
                    st.tuples(st.ip_addresses(v=6), st.integers(0, 128)).map(
                        lambda pair: f'{pair[0]}/{pair[1]}'
                    ),
                    st.tuples(st.ip_addresses(v=6), st.text(max_size=20)).map(
                        lambda pair: f'{pair[0]}%{pair[1]}'
                    ),
                    st.text(max_size=20),
                ),
                st.sampled_from(['rw', 'ro', 'x']),
            ),
            max_size=6,
        )
    )
    def test_every_written_block_can_be_parsed(self, rows):
        text, results = _text(rows)
        self.assertEqual(len(rows), len(results))
        self.assertEqual(sum(result.error is None for result in results.values()), text.count('CLIENT {'))
        for listed in re.findall(r'Clients = ([^;]*);', text):
            for one in listed.split(', '):
                network = ipaddress.ip_network(one)
                self.assertNotIn('%', one)
                self.assertTrue(network.prefixlen)
                self.assertNotEqual('0.0.0.0', one)
                self.assertFalse(re.search(r':.*/\d{3}', one), one)
