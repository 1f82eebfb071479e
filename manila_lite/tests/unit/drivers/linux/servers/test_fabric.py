# SPDX-License-Identifier: Apache-2.0
"""One bridge for each segment, with a name that the kernel accepts."""

import testtools

from manila_lite import values
from manila_lite.drivers.linux.servers.fabric import bridge_of


class BridgeTest(testtools.TestCase):
    def bridge(self, **about):
        names = {
            bridge_of(kind(**about))
            for kind in (
                lambda **more: values.Allocation('a', '10.0.0.1', '10.0.0.0/24', 4, **more),
                lambda **more: values.ServerNetwork('n', '10.0.0.0/24', 4, **more),
            )
        }
        (name,) = names
        self.assertLessEqual(len(name), 15)
        return name

    def test_bridge_is_named_after_its_segment(self):
        self.assertEqual('vlan101', self.bridge(network_type='vlan', segmentation_id=101, neutron_net_id='n'))
        self.assertEqual('geneve16777215', self.bridge(network_type='geneve', segmentation_id=16777215))
        self.assertEqual('vlan0', self.bridge(network_type='vlan', segmentation_id=0))

    def test_bridge_without_a_segment_is_named_after_its_network(self):
        one, other = (
            self.bridge(network_type='flat', neutron_net_id=network_id) for network_id in ('one', 'other')
        )
        self.assertNotEqual(one, other)
        self.assertEqual(one, self.bridge(network_type='local', neutron_net_id='one', segmentation_id=5))
        self.assertEqual(one, self.bridge(network_type='vlan', neutron_net_id='one'))

    def test_bridge_without_segment_and_network_is_named_flat(self):
        self.assertEqual('flat', self.bridge())
