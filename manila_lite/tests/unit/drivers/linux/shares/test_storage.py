# SPDX-License-Identifier: Apache-2.0
import threading

from manila_lite import errors
from manila_lite.tests import waiting
from manila_lite.tests.unit.drivers.linux.shares import base


class StorageTest(base.ServiceTest):
    def test_only_managed_shares_have_a_path(self):
        self.assertIsNone(self.storage.share_path('a'))
        self.pool.create('a', 1)
        self.assertEqual(self.pool.share('a'), self.storage.share_path('a'))
        self.assertEqual(self.pool.share('a'), self.storage.exported_path('a'))
        self.storage.require(base.share())
        self.pool.unmanaged_shares.add('a')
        self.assertIsNone(self.storage.share_path('a'))
        self.assertRaisesRegex(errors.Final, 'not in the pool', self.storage.require, base.share())

    def test_a_directory_has_no_snapshots(self):
        self.assertIsNone(self.storage.snapshot_path('s'))
        self.assertRaisesRegex(errors.Final, 'plain directory', lambda: self.storage.btrfs)

    def test_ids_that_are_no_file_names_are_refused(self):
        self.assertRaisesRegex(errors.Final, 'not an id', self.storage.require, base.share('../a'))

    def test_second_thread_waits_for_the_share(self):
        order = []

        def enter():
            with self.storage.exclusive('a'):
                order.append('second')

        other = threading.Thread(target=enter)
        with self.storage.exclusive('a'):
            other.start()
            order.append('first')
        other.join(waiting.LIMIT)
        self.assertEqual(['first', 'second'], order)
