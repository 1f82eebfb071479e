# SPDX-License-Identifier: Apache-2.0
from manila_lite import values
from manila_lite.drivers.linux.shares.ensure import Ensuring
from manila_lite.host.commands import CommandFailed
from manila_lite.tests.unit.drivers.linux.shares import base


class EnsuringTest(base.ServiceTest):
    def setUp(self):
        super().setUp()
        self.ensuring = Ensuring(self.storage, self.exports, self.qos, self.sizes)

    def target(self, share_id, *paths):
        locations = tuple(values.ExportLocation(path) for path in paths)
        return values.EnsureTarget(
            base.share(share_id, export_locations=locations), (values.AccessRule('r', 'user', 'alice', 'rw'),)
        )

    def test_each_share_has_a_result(self):
        self.pool.create('a', 1)
        results = self.ensuring.ensure([self.target('a', r'\\10.0.0.2\a'), self.target('gone')])
        self.assertIn('not in the pool', results['gone'].error)
        self.assertEqual(
            ('It was mended.', r'It was known as \\10.0.0.2\a; it is \\10.0.0.1\a.'), results['a'].repaired
        )
        self.assertEqual({'r'}, set(results['a'].rules))
        self.assertEqual([('serve', 'a', 'a', ['alice'])], self.server.calls)

    def test_missing_pool_fails_instead_of_reporting_missing_shares(self):
        (self.pool.root / 'shares').rmdir()
        self.assertRaisesRegex(CommandFailed, 'pool cannot be used', self.ensuring.ensure, [self.target('a')])
