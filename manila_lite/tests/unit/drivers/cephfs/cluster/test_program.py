# SPDX-License-Identifier: Apache-2.0
"""Commands become words of the program ceph in which no value can be taken for an option."""

import testtools

from manila_lite.drivers.cephfs.cluster.program import words


class Words(testtools.TestCase):
    def test_each_value_is_named(self):
        self.assertEqual(
            ['fs', 'subvolume', 'authorize', '--vol_name=a', '--auth_id=--id', '--force'],
            words(
                {
                    'prefix': 'fs subvolume authorize',
                    'format': 'json',
                    'vol_name': 'a',
                    'auth_id': '--id',
                    'force': True,
                    'retain_snapshots': False,
                }
            ),
        )

    def test_filters_come_last(self):
        self.assertEqual(
            ['client', 'evict', 'auth_name=x'], words({'prefix': 'client evict', 'filters': ['auth_name=x']})
        )
