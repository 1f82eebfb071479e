# SPDX-License-Identifier: Apache-2.0
"""The sources that each interface of a share server refuses."""

import testtools

from manila_lite import values
from manila_lite.drivers.linux.servers import source_rules


def interfaces(**cidrs):
    """Return an allocation for each interface."""
    return {
        name: values.Allocation(name, 'not looked at', cidr, 6 if ':' in cidr else 4)
        for name, cidr in cidrs.items()
    }


class Rules(testtools.TestCase):
    def test_each_interface_refuses_each_other_subnet_in_both_families(self):
        there = interfaces(a='10.1.0.0/24', b='10.2.0.0/24', c='fd01::/64')
        self.assertEqual(
            {('a', '10.2.0.0/24'), ('b', '10.1.0.0/24'), ('c', '10.1.0.0/24'), ('c', '10.2.0.0/24')},
            source_rules.rules(4, there),
        )
        self.assertEqual({('a', 'fd01::/64'), ('b', 'fd01::/64')}, source_rules.rules(6, there))

    def test_interfaces_in_one_subnet_accept_it(self):
        self.assertEqual(set(), source_rules.rules(4, interfaces(a='10.1.0.0/24', b='10.1.0.0/24')))
        self.assertEqual(set(), source_rules.rules(4, interfaces(a='10.1.0.0/24')))

    def test_clients_in_two_subnets_at_once_are_accepted_in_both(self):
        there = interfaces(a='10.1.0.0/16', b='10.1.2.0/24', c='10.2.0.0/24')
        self.assertEqual(
            {('a', '10.2.0.0/24'), ('b', '10.2.0.0/24'), ('c', '10.1.0.0/16'), ('c', '10.1.2.0/24')},
            source_rules.rules(4, there),
        )
