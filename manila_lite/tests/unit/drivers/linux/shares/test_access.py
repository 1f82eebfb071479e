# SPDX-License-Identifier: Apache-2.0
from manila_lite import errors, values
from manila_lite.drivers.linux.shares.access import ShareAccess
from manila_lite.tests.unit.drivers.linux.shares import base


class ShareAccessTest(base.ServiceTest):
    def setUp(self):
        super().setUp()
        self.access = ShareAccess(self.storage, self.exports, self.qos, self.sizes)

    def test_every_rule_has_a_result(self):
        self.pool.create('a', 1)
        results = self.access.update(
            base.share(),
            [
                values.AccessRule('1', 'user', 'alice', 'rw'),
                values.AccessRule('2', 'user', 'nobody', 'rw'),
                values.AccessRule('3', 'ip', '10.0.0.9', 'rw'),
            ],
        )
        self.assertEqual(
            {'1': '', '2': 'Unknown.', '3': 'No user.'},
            {name: one.error or '' for name, one in results.items()},
        )
        self.assertEqual([('serve', 'a', 'a', ['alice', 'nobody'])], self.server.calls)

    def test_rules_for_a_missing_share_are_refused(self):
        self.assertEqual({}, self.access.update(base.share(), []))
        rule = values.AccessRule('1', 'user', 'alice', 'rw')
        self.assertRaisesRegex(errors.Final, 'not in the pool', self.access.update, base.share(), [rule])
        self.assertEqual([], self.server.calls)

    def test_unsupported_qos_is_refused_before_access_is_given(self):
        self.pool.create('a', 1)
        rule = values.AccessRule('1', 'user', 'alice', 'rw')
        self.assertRaises(errors.Final, self.access.update, base.share(qos={'maxbps': '1000000'}), [rule])
        self.assertEqual([], self.server.calls)
