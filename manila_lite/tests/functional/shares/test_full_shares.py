# SPDX-License-Identifier: Apache-2.0
"""Shares that fill up: messages to their owners, and automatic growth."""

from oslo_policy import _checks

from manila_lite.db.queries.messages import Detail
from manila_lite.tests import policy_rules
from manila_lite.tests.functional.shares.test_share_usage import UsageTest

GROWING = {'usage:grow_by': '2', 'usage:grow_to': '8', 'usage:grow_at': '80'}


class FullTest(UsageTest):
    def measured(self, share_id, gib):
        """Let the share hold so much, and measure."""
        self.fill(share_id, gib)
        self.collector.collect()

    def told(self, caller, share_id, detail):
        """Return the messages about the share with this detail, the oldest first."""
        found = caller.ok('GET', f'/messages?resource_id={share_id}&sort_dir=asc')['messages']
        return [message for message in found if message['detail_id'] == detail.value[0]]

    def size(self, share_id):
        self.service.settled(share_id)
        return self.admin.wait(f'/shares/{share_id}', 'share', 'available')['size']


class Thresholds(FullTest):
    def test_owner_is_told_once_for_each_threshold(self):
        caller = self.caller('full')
        share = self.made(caller, 0, size=10)
        for gib, number in (
            (7.9, 0),
            (8.1, 1),
            (8.1, 1),
            (9.2, 2),
            (8.9, 2),
            (9.1, 2),
            (8.4, 2),
            (9.1, 3),
            (9.9, 4),
        ):
            self.measured(share, gib)
            found = self.told(caller, share, Detail.SHARE_NEARLY_FULL)
            self.assertEqual(number, len(found), gib)
        self.assertIn('It holds 9.9 of 10.0 GiB, which is at least 95 %.', found[-1]['user_message'])
        self.assertEqual([], self.caller('other').ok('GET', '/messages')['messages'])

    def test_owner_chooses_thresholds_or_none(self):
        caller = self.caller('choosing')
        early = self.made(caller, 0, size=10, metadata={'usage:warn_at': '30,50'})
        never = self.made(caller, 0, size=10, metadata={'usage:warn_at': 'never'})
        self.fill(never, 9.9)
        self.measured(early, 4)
        self.assertEqual(1, len(self.told(caller, early, Detail.SHARE_NEARLY_FULL)))
        self.assertEqual([], self.told(caller, never, Detail.SHARE_NEARLY_FULL))

    def test_settings_that_make_no_sense_are_refused(self):
        caller = self.caller('senseless')
        share = self.made(caller, 0)
        for key, value in (('usage:warn_at', 'soon'), ('usage:grow_by', '0')):
            status, document, _ = caller.call('PUT', f'/shares/{share}/metadata', {'metadata': {key: value}})
            self.assertEqual(400, status)
            self.assertIn(f'metadata.{key}', document['badRequest']['message'])
            body = {'extra_specs': {key: value}}
            type_id = self.admin.ok('GET', '/types/default')['share_type']['id']
            self.assertEqual(400, self.admin.call('POST', f'/types/{type_id}/extra_specs', body)[0])
        caller.ok('PUT', f'/shares/{share}/metadata', {'metadata': {'usage:warn_at': '60'}})
        self.assertEqual(200, caller.call('DELETE', f'/shares/{share}/metadata/usage:warn_at')[0])


class Growth(FullTest):
    def test_share_does_not_grow_unless_somebody_wants_it(self):
        share = self.made(self.caller('still'), 0, size=2)
        self.measured(share, 2)
        self.assertEqual(2, self.size(share))

    def test_share_grows_by_an_operation_with_its_reason(self):
        caller = self.caller('growing')
        share = self.made(caller, 0, size=2, metadata=GROWING)
        for gib, size in ((1.5, 2), (1.7, 4), (1.7, 4), (5.0, 8), (7.9, 8)):
            self.measured(share, gib)
            self.assertEqual(size, self.size(share), gib)
        first, second = self.told(caller, share, Detail.SHARE_GROWS)
        self.assertIn('It holds 1.7 of 2.0 GiB. It grows from 2 to 4 GiB.', first['user_message'])
        self.assertIn('It grows from 4 to 8 GiB.', second['user_message'])
        done = caller.ok('GET', f'/operations?resource_id={share}&kind=share.extend&sort_dir=asc')[
            'operations'
        ]
        self.assertEqual(
            [(first['request_id'], 'done'), (second['request_id'], 'done')],
            [(operation['request_id'], operation['state']) for operation in done],
        )

    def test_share_type_lets_shares_grow(self):
        self.admin.ok(
            'POST',
            '/types',
            {
                'share_type': {
                    'name': 'grows',
                    'extra_specs': {'driver_handles_share_servers': 'False', **GROWING},
                }
            },
        )
        share = self.made(self.caller('typed'), 0, size=2, share_type='grows')
        self.measured(share, 1.9)
        self.assertEqual(4, self.size(share))

    def test_growth_by_an_owner_stays_within_the_limit_of_the_type(self):
        self.admin.ok(
            'POST',
            '/types',
            {
                'share_type': {
                    'name': 'limited',
                    'extra_specs': {
                        'driver_handles_share_servers': 'False',
                        'provisioning:max_share_extend_size': '4',
                    },
                }
            },
        )
        caller = self.caller('limited')
        share = self.made(caller, 0, size=2, share_type='limited', metadata=GROWING)
        self.measured(share, 1.9)
        self.assertEqual(4, self.size(share))
        for _ in range(2):
            self.measured(share, 3.9)
        self.assertEqual(4, self.size(share))
        [message] = self.told(caller, share, Detail.GROWTH_REFUSED)
        self.assertIn('more than 4 GiB, the maximum', message['user_message'])

    def test_quota_holds_and_its_owner_is_told_once(self):
        caller = self.caller('quota')
        share = self.made(caller, 0, size=2, metadata=GROWING)
        self.admin.ok('PUT', '/quota-sets/quota', {'quota_set': {'gigabytes': 3}})
        for _ in range(3):
            self.measured(share, 1.9)
        self.assertEqual(2, self.size(share))
        [message] = self.told(caller, share, Detail.GROWTH_REFUSED)
        self.assertIn('gigabytes', message['user_message'])
        self.admin.ok('PUT', '/quota-sets/quota', {'quota_set': {'gigabytes': 4}})
        self.measured(share, 1.9)
        self.assertEqual(4, self.size(share))
        self.measured(share, 3.9)
        self.assertEqual(4, self.size(share))
        self.assertEqual(2, len(self.told(caller, share, Detail.GROWTH_REFUSED)))

    def test_owner_is_told_once_that_the_pool_is_full_and_not_which_pool_it_is(self):
        caller = self.caller('crowded')
        settings = {'usage:grow_by': '100000', 'usage:grow_to': '200000'}
        share = self.made(caller, 0, size=2, metadata=settings)
        self.admin.ok('PUT', '/quota-sets/crowded', {'quota_set': {'gigabytes': -1}})
        for _ in range(3):
            self.measured(share, 1.9)
            self.assertEqual(2, self.size(share))
        found = caller.ok('GET', f'/messages?resource_id={share}&sort_dir=asc')['messages']
        [refused] = [one['user_message'] for one in found if 'has no room for' in one['user_message']]
        self.assertIn('The pool of the share has no room for 100000 GiB more.', refused)
        self.assertNotIn('@', refused)
        self.assertEqual(1, len(self.told(caller, share, Detail.SHARE_GROWS)))
        caller.ok('POST', f'/shares/{share}/metadata', {'metadata': {'usage:grow_by': '2'}})
        self.measured(share, 1.9)
        self.assertEqual(4, self.size(share))

    def test_busy_share_grows_later(self):
        caller = self.caller('busy')
        share = self.made(caller, 0, size=2, metadata=GROWING)
        self.service.knob('alpha', 'shrink_share:hang')
        self.addCleanup(self.service.knob, 'alpha', '')
        caller.action(share, 'shrink', {'new_size': 1})
        self.measured(share, 1.9)
        self.service.knob('alpha', '')
        caller.wait(f'/shares/{share}', 'share', ('available', 'shrinking_possible_data_loss_error'))
        self.assertEqual([], self.told(caller, share, Detail.GROWTH_REFUSED))

    def test_owner_who_may_not_extend_shares_cannot_let_them_grow(self):
        checks = {'share:extend': _checks.RoleCheck('role', 'admin')}
        self.useFixture(policy_rules.PolicyRules(self.service.services.enforcer, checks))
        caller = self.caller('forbidden')
        share = self.made(caller, 0, size=2, metadata=GROWING)
        self.measured(share, 1.9)
        self.assertEqual(2, self.size(share))
        [message] = self.told(caller, share, Detail.GROWTH_REFUSED)
        self.assertIn('may not extend', message['user_message'])
