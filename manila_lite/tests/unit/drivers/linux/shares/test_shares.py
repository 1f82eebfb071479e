# SPDX-License-Identifier: Apache-2.0
from manila_lite import errors
from manila_lite.drivers.linux.shares.shares import Shares
from manila_lite.tests.unit.drivers.linux.shares import base


class SharesTest(base.ServiceTest):
    def setUp(self):
        super().setUp()
        self.shares = Shares(self.storage, self.exports, self.qos, self.sizes)

    def test_share_is_created_exported_and_deleted(self):
        self.assertEqual([r'\\10.0.0.1\a'], [location.path for location in self.shares.create(base.share())])
        self.assertTrue(self.pool.share('a').is_dir())
        self.shares.delete(base.share())
        self.assertFalse(self.pool.share('a').exists())
        self.assertEqual([('serve', 'a', 'a', []), ('forget', 'a')], self.server.calls)

    def test_an_unmanaged_share_is_not_deleted(self):
        self.pool.create('a', 1)
        self.pool.unmanaged_shares.add('a')
        self.shares.delete(base.share())
        self.assertTrue(self.pool.share('a').is_dir())

    def test_unsupported_share_is_refused_before_anything_is_created(self):
        self.assertRaises(errors.Final, self.shares.create, base.share(proto='NFS'))
        self.assertRaises(errors.Final, self.shares.create, base.share(qos={'maxbps': '1000000'}))
        self.assertFalse(self.pool.share('a').exists())

    def test_extending_in_a_plain_directory_is_refused(self):
        self.shares.create(base.share())
        self.assertRaisesRegex(errors.Final, 'plain directory', self.shares.extend, base.share(), 2)
        self.assertIsNone(self.sizes.get('a'))
