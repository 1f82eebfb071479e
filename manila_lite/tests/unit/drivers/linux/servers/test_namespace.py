# SPDX-License-Identifier: Apache-2.0
"""Names in a share server's namespace, which outlive the server: interfaces, tables, hardware addresses."""

import testtools
from oslo_utils import netutils, uuidutils

from manila_lite import values
from manila_lite.drivers.linux.servers import namespace
from manila_lite.host import ip


class NamesTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.allocations = [
            values.Allocation(uuidutils.generate_uuid(), '10.0.0.5', '10.0.0.0/24', 4) for _ in range(200)
        ]

    def test_interfaces_have_names_that_the_kernel_takes(self):
        names = {namespace._interface(allocation) for allocation in self.allocations}
        self.assertEqual(200, len(names))
        self.assertEqual({True}, {len(name) <= 15 for name in names})

    def test_table_numbers_are_distinct_from_those_of_the_kernel(self):
        tables = {int(namespace._table(namespace._interface(allocation))) for allocation in self.allocations}
        self.assertEqual(200, len(tables))
        self.assertLess(255, min(tables))
        self.assertLess(max(tables), 1 << 32)

    def test_hardware_address_is_the_given_one_or_stable(self):
        addresses = {namespace._mac(allocation) for allocation in self.allocations}
        self.assertEqual(200, len(addresses))
        self.assertEqual(addresses, {namespace._mac(allocation) for allocation in self.allocations})
        for address in addresses:
            self.assertTrue(netutils.is_valid_mac(address), address)
            self.assertEqual(2, int(address[:2], 16) & 3, 'neither for many nor from a vendor')
        given = values.Allocation('a', '10.0.0.5', '10.0.0.0/24', 4, mac_address='fa:16:3e:00:00:01')
        self.assertEqual('fa:16:3e:00:00:01', namespace._mac(given))

    def test_a_namespace_that_is_not_there(self):
        name = f'manila-{uuidutils.generate_uuid()}'
        self.assertIs(False, ip.is_there(name))
        self.assertEqual(0, ip.identity(name))
        self.assertIsNone(ip.delete(name))
