# SPDX-License-Identifier: Apache-2.0
"""Addresses of monitors, by IP version, as the cluster lists them."""

import testtools

from manila_lite.drivers.cephfs.protocols import monitors


def monitor(*addresses):
    return {
        'public_addrs': {
            'addrvec': [{'type': kind, 'addr': address, 'nonce': 0} for kind, address in addresses]
        }
    }


class ByFamily(testtools.TestCase):
    def test_all_monitors_are_there_and_the_address_for_all_clients_is_chosen(self):
        self.assertEqual(
            {4: ('10.0.0.1:6789', '10.0.0.2:6789')},
            monitors.by_family(
                {
                    'mons': [
                        monitor(('v2', '10.0.0.1:3300'), ('v1', '10.0.0.1:6789')),
                        monitor(('v1', '10.0.0.2:6789'), ('v2', '10.0.0.2:3300')),
                    ]
                }
            ),
        )

    def test_each_ip_version_has_its_own(self):
        found = monitors.by_family(
            {
                'mons': [
                    monitor(('v2', '[fd00::1]:3300'), ('v1', '[fd00::1]:6789'), ('v1', '10.0.0.1:6789')),
                    monitor(('v2', '[fd00::2]:3300')),
                ]
            }
        )
        self.assertEqual(
            [(4, ('10.0.0.1:6789',)), (6, ('[fd00::1]:6789', '[fd00::2]:3300'))], list(found.items())
        )

    def test_old_clusters_have_one_address_each(self):
        self.assertEqual({4: ('10.0.0.1:6789',)}, monitors.by_family({'mons': [{'addr': '10.0.0.1:6789/0'}]}))
