# SPDX-License-Identifier: Apache-2.0
from manila_lite import errors, values
from manila_lite.drivers.linux.shares.manage_shares import ManagedShares
from manila_lite.tests.unit.drivers.linux.shares import base


class ManagedSharesTest(base.ServiceTest):
    def setUp(self):
        super().setUp()
        self.exported = set()
        self.managed = ManagedShares(
            self.storage, self.exports, self.qos, self.sizes, is_exported=self.exported.__contains__
        )
        (self.pool.root / 'old').mkdir()

    def manage(self, path='old', **options):
        return self.managed.manage(base.share(), str(self.pool.root / path), options)

    def test_a_directory_becomes_a_share(self):
        managed = self.manage(size='3')
        self.assertEqual((3, r'\\10.0.0.1\a'), (managed.size, managed.export_locations[0].path))
        self.assertTrue(self.pool.share('a').is_dir())
        self.assertFalse((self.pool.root / 'old').exists())
        self.assertEqual(3, self.sizes.get('a'))
        self.assertEqual([('serve', 'a', 'a', [])], self.server.calls)

    def test_unsuitable_directories_and_options_are_refused(self):
        (self.pool.share('theirs')).mkdir()
        self.exported.add('theirs')
        for path, options, why in (
            ('old', {}, 'is not known; give the driver option'),
            ('old', {'size': '0'}, 'not a size'),
            ('old', {'other': '1'}, 'no driver option'),
            ('shares', {'size': '1'}, 'cannot be a share'),
            ('shares/theirs', {'size': '1'}, 'managed already'),
            ('shares/theirs/in', {'size': '1'}, 'is inside a share'),
            ('nowhere', {'size': '1'}, 'There is no'),
        ):
            self.assertIn(why, str(self.assertRaises(errors.Final, self.manage, path, **options)))
        self.assertEqual([], self.server.calls)

    def test_unmanaged_share_is_kept_and_can_be_managed_again(self):
        self.manage(size='3')
        self.managed.unmanage(base.share())
        self.assertIsNone(self.storage.share_path('a'))
        self.assertTrue(self.pool.share('a').is_dir())
        self.assertIsNone(self.sizes.get('a'))
        self.assertEqual(4, self.manage('shares/a', size='4').size)

    def test_directory_is_moved_back_when_management_did_not_finish(self):
        self.manage(size='3')
        old = values.ExportLocation(str(self.pool.root / 'old'))
        self.managed.unmanage(base.share(export_locations=(old,)))
        self.assertTrue((self.pool.root / 'old').is_dir())
        self.assertFalse(self.pool.share('a').exists())
        self.assertNotIn('a', self.pool.unmanaged_shares)
