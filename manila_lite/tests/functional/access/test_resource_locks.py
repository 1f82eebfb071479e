# SPDX-License-Identifier: Apache-2.0
"""Resource locks: callers that may change them, rules that they hide, and their end with the locked resource."""

import concurrent.futures
import itertools
import json

import openstack

from manila_lite.tests.functional import base, commandline
from manila_lite.tests.functional.api import test_budgets
from manila_lite.tests.policy_rules import PolicyRules

LOCKS = '/resource-locks?all_projects=true'
LOCKED = {'lock_visibility': True, 'lock_deletion': True, 'lock_reason': 'mine'}
ROLES = {'user': 'member,reader', 'service': 'service', 'admin': 'admin,member,reader'}
#: Kind of caller, and kind of caller whose locks it may change.
TOUCHES = {
    ('user', 'user'),
    ('service', 'user'),
    ('service', 'service'),
    ('admin', 'user'),
    ('admin', 'service'),
    ('admin', 'admin'),
}


class LockTest(base.ServiceTest):
    """A share of the project p, with helpers for its access rules and locks."""

    def setUp(self):
        super().setUp()
        self.user, self.nova = self.caller(), self.caller('services', 'nova', 'service')
        self.share = self.user.share()['id']

    def allow(self, caller, to, kind='ip', **more):
        status, document, _ = caller.action(
            self.share, 'allow_access', {'access_type': kind, 'access_to': to, **more}
        )
        self.assertEqual(200, status, document)
        return document['access']['id']

    def deny(self, caller, resource_id, **more):
        return caller.action(self.share, 'deny_access', {'access_id': resource_id, **more})[0]

    def locks(self, resource_id):
        """Return the locked actions of a resource, sorted."""
        return sorted(
            row['resource_action']
            for row in self.admin.ok('GET', f'{LOCKS}&resource_id={resource_id}')['resource_locks']
        )

    def lock(self, caller, resource_id, kind='share', **more):
        body = {'resource_id': resource_id, 'resource_type': kind, **more}
        return caller.call('POST', '/resource-locks', {'resource_lock': body})

    def rule(self, rule_id, state, caller=None):
        return (caller or self.admin).wait(f'/share-access-rules/{rule_id}', 'access', state, field='state')


class Locks(LockTest):
    BACKENDS = {'alpha': 'dummy_access_types = ip'}

    def knobs(self, *lines):
        self.service.knob('alpha', *lines)

    def test_locks_are_removed_only_once_the_access_rule_is_deleted(self):
        self.addCleanup(self.knobs)
        rule = self.allow(self.nova, '10.0.0.5', **LOCKED)
        self.rule(rule, 'active')
        self.knobs('update_access:hang', 'update_access:fail_final')
        self.assertEqual(202, self.deny(self.nova, rule, unrestrict=True))
        self.rule(rule, 'denying')
        self.assertEqual((['delete', 'show'], ['delete']), (self.locks(rule), self.locks(self.share)))
        self.assertEqual('******', self.user.ok('GET', f'/share-access-rules/{rule}')['access']['access_to'])
        self.assertEqual(403, self.user.call('DELETE', f'/shares/{self.share}')[0])
        self.assertEqual(409, self.lock(self.nova, rule, 'access_rule')[0])
        self.knobs('update_access:fail_final')
        self.rule(rule, 'error')
        self.assertEqual((['delete', 'show'], ['delete']), (self.locks(rule), self.locks(self.share)))
        self.knobs()
        self.assertEqual(202, self.deny(self.nova, rule, unrestrict=True))
        self.rule(rule, 'gone')
        self.assertEqual(([], []), (self.locks(rule), self.locks(self.share)))
        self.assertEqual(202, self.user.call('DELETE', f'/shares/{self.share}')[0])

    def test_locks_can_be_changed_only_by_permitted_roles(self):
        """Allow each kind of caller to change a lock, to delete it and to deny the locked rule, or refuse all three."""
        callers = {name: self.caller('p', 'u', roles) for name, roles in ROLES.items()}
        for (maker, toucher), number in zip(
            itertools.product(callers, repeat=2), itertools.count(1), strict=False
        ):
            by, may = callers[toucher], (toucher, maker) in TOUCHES
            rule = self.allow(callers[maker], f'10.0.1.{number}', lock_deletion=True)
            [lock] = self.admin.ok('GET', f'{LOCKS}&resource_id={rule}')['resource_locks']
            self.assertEqual(maker, lock['lock_context'])
            path = f'/resource-locks/{lock["id"]}'
            status = by.call('PUT', path, {'resource_lock': {'lock_reason': 'changed'}})[0]
            self.assertEqual(200 if may else 403, status, (maker, toucher))
            self.assertEqual(403, self.deny(by, rule), (maker, toucher))
            self.assertEqual(202 if may else 403, self.deny(by, rule, unrestrict=True), (maker, toucher))
            if not may:
                self.assertEqual(403, by.call('DELETE', path)[0], (maker, toucher))
                self.assertEqual(204, callers[maker].call('DELETE', path)[0])
                self.assertEqual(202, self.deny(by, rule), 'nothing locks it any more')

    def test_share_lock_is_removed_with_the_lock_of_its_access_rule(self):
        rule = self.allow(self.user, '10.0.0.6', lock_deletion=True, lock_reason='a reason')
        [lock] = self.user.ok('GET', f'/resource-locks?resource_id={rule}')['resource_locks']
        [follower] = self.user.ok('GET', f'/resource-locks?resource_id={self.share}')['resource_locks']
        self.assertEqual(
            ('a reason', f'Locked by access lock: {lock["id"]}'),
            (lock['lock_reason'], follower['lock_reason']),
        )
        self.assertEqual(204, self.user.call('DELETE', f'/resource-locks/{lock["id"]}')[0])
        self.assertEqual([], self.locks(self.share))
        other = self.allow(self.user, '10.0.0.7', lock_deletion=True)
        [lock] = self.user.ok('GET', f'/resource-locks?resource_id={other}')['resource_locks']
        self.user.ok('PUT', f'/resource-locks/{lock["id"]}', {'resource_lock': {'resource_action': 'show'}})
        self.assertEqual((['show'], []), (self.locks(other), self.locks(self.share)))
        self.assertEqual(409, self.lock(self.user, other, 'access_rule', resource_action='show')[0])

    def test_client_of_a_hidden_access_rule_is_shown_to_its_owner_only(self):
        cert = self.allow(
            self.nova, 'hidden-name', kind='cert', lock_visibility=True
        )  # which this backend refuses
        self.rule(cert, 'error')
        mate = self.caller('p', 'mate')
        for path in (
            f'/share-access-rules?share_id={self.share}',
            f'/share-access-rules/{cert}',
            '/messages',
            '/operations',
            f'/share-access-rules?share_id={self.share}&access_key=hidden-name',
            '/resource-locks',
        ):
            self.assertNotIn('hidden-name', json.dumps(mate.ok('GET', path)), path)
        [message] = self.admin.ok('GET', f'/messages?resource_id={self.share}')['messages']
        self.assertIn(cert, message['user_message'])
        self.assertNotIn('hidden-name', message['user_message'])
        self.assertEqual(
            'hidden-name', self.nova.ok('GET', f'/share-access-rules/{cert}')['access']['access_to']
        )

    def test_backend_error_of_a_hidden_access_rule_is_not_shown(self):
        self.addCleanup(self.knobs)
        self.knobs('update_access:fail_final')
        for number, more in enumerate(({}, {'lock_visibility': True})):
            self.rule(self.allow(self.user, f'10.0.0.{number}', **more), 'error')
            for path in ('/messages', '/operations'):
                told = self.user.ok('GET', f'{path}?resource_id={self.share}&limit=1')
                self.assertEqual(not more, 'update_access cannot be done' in json.dumps(told), told)
                self.assertEqual(
                    bool(more), 'The log of the share manager has the cause' in json.dumps(told), told
                )

    def test_access_rule_is_not_created_when_its_lock_is_refused(self):
        enforcer = self.service.services.enforcer
        self.useFixture(PolicyRules(enforcer, {'resource_lock:create': enforcer.rules['admin_api']}))
        status, document, _ = self.user.action(
            self.share, 'allow_access', {'access_type': 'ip', 'access_to': '10.0.0.9', **LOCKED}
        )
        self.assertEqual((400, 'lock_failed'), (status, document['badRequest']['reason']))
        self.assertEqual([], self.user.ok('GET', f'/share-access-rules?share_id={self.share}')['access_list'])

    def test_transfer_by_an_administrator_removes_locks_of_others(self):
        rule = self.allow(self.nova, '10.0.0.5', **LOCKED)
        self.rule(rule, 'active')
        wanted = {'transfer': {'share_id': self.share}}
        status, document, _ = self.user.call('POST', '/share-transfers', wanted)
        self.assertEqual((403, 'share_locked'), (status, document['forbidden']['reason']))
        offer = self.admin.ok('POST', '/share-transfers', wanted)['transfer']
        self.assertEqual(
            (['delete', 'show'], ['delete']),
            (self.locks(rule), self.locks(self.share)),
            'until it is accepted',
        )
        other = self.caller('q', 'w')
        other.call(
            'POST', f'/share-transfers/{offer["id"]}/accept', {'accept': {'auth_key': offer['auth_key']}}
        )
        self.assertEqual('q', self.admin.ok('GET', f'/shares/{self.share}')['share']['project_id'])
        self.assertEqual(([], []), (self.locks(rule), self.locks(self.share)))
        self.assertEqual('10.0.0.5', other.ok('GET', f'/share-access-rules/{rule}')['access']['access_to'])
        self.assertEqual(202, self.deny(other, rule))

    def test_concurrent_lock_and_deletion_do_not_both_succeed(self):
        def ask(number):
            if number % 2:
                return 'lock', self.lock(self.caller('p', f'u{number}'), self.share)[0]
            return 'delete', self.user.call('DELETE', f'/shares/{self.share}')[0]

        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            answers = set(pool.map(ask, range(6)))
        allowed = (
            {('lock', 200), ('delete', 403)},
            {('lock', 400), ('lock', 404), ('lock', 409), ('delete', 202), ('delete', 403), ('delete', 404)},
        )
        self.assertTrue(any(answers <= them for them in allowed), answers)

    def test_concurrent_visibility_locks_create_one_lock(self):
        rule = self.allow(self.user, '10.0.0.4')
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            answers = pool.map(
                lambda _: self.lock(self.user, rule, 'access_rule', resource_action='show')[0], range(4)
            )
        self.assertEqual([200, 409, 409, 409], sorted(answers))

    def test_pages_by_marker_show_each_lock_once(self):
        """Show each lock exactly once over all pages, in any order, also where values are missing."""
        mine = {
            self.lock(self.user, self.share, lock_reason=reason)[1]['resource_lock']['id']
            for reason in (None, 'b', 'a', None, 'b')
        }
        path = f'/resource-locks?resource_id={self.share}&limit=2'
        for order in (
            'sort_key=lock_reason&sort_dir=asc',
            'sort_key=lock_reason&sort_dir=desc',
            'sort_key=created_at',
        ):
            seen, page = [], self.user.ok('GET', f'{path}&{order}')['resource_locks']
            while page:
                seen += [row['id'] for row in page]
                page = self.user.ok('GET', f'{path}&{order}&marker={seen[-1]}')['resource_locks']
            self.assertEqual((len(mine), mine), (len(seen), set(seen)), order)
        self.assertEqual([], self.user.ok('GET', f'{path}&marker=none')['resource_locks'])

    def test_share_in_deletion_cannot_be_locked(self):
        self.addCleanup(self.knobs)
        self.knobs('delete_share:hang')
        self.assertEqual(202, self.user.call('DELETE', f'/shares/{self.share}')[0])
        status, document, _ = self.lock(self.user, self.share)
        self.assertEqual((409, 'too_late_to_lock'), (status, document['conflictingRequest']['reason']))

    def test_locks_add_no_statements_to_lists(self):
        counts = []
        for number in (1, 7):
            for _ in range(number):
                self.allow(self.nova, f'10.1.{number}.{_}', **LOCKED)
            for path, key in (
                (f'/share-access-rules?share_id={self.share}', 'access_list'),
                (LOCKS, 'resource_locks'),
            ):
                with test_budgets.counting(self.service.services.db.engine) as counter:
                    self.assertTrue(self.admin.ok('GET', path)[key])
                counts.append(len(counter.asked()))
        self.assertEqual(counts[:2], counts[2:])
        self.assertLessEqual(max(counts), test_budgets.LIST_STATEMENTS)


class Clients(commandline.OverHttp, LockTest):
    """The released command line and openstacksdk; without Keystone their callers are administrators."""

    def test_command_line_creates_changes_and_removes_locks(self):
        lock = self.cli('share', 'lock', 'create', self.share, 'share', '--lock-reason', 'keep')
        self.assertEqual(('delete', 'keep'), (lock['resource_action'], lock['lock_reason']))
        self.assertEqual(
            [lock['id']],
            [
                row['ID']
                for row in self.cli(
                    'share',
                    'lock',
                    'list',
                    '--resource',
                    self.share,
                    '--resource-type',
                    'share',
                    '--since',
                    '2020-01-01',
                )
            ],
        )
        self.assertIn('locked', self.run_cli('share', 'delete', self.share, fails=True))
        self.run_cli('share', 'lock', 'set', lock['id'], '--lock-reason', 'other')
        self.assertEqual('other', self.cli('share', 'lock', 'show', lock['id'])['Lock Reason'])
        self.run_cli('share', 'lock', 'unset', lock['id'], '--lock-reason')
        self.assertIsNone(self.cli('share', 'lock', 'show', lock['id'])['Lock Reason'])
        self.run_cli('share', 'lock', 'delete', lock['id'])
        rule = self.cli(
            'share',
            'access',
            'create',
            self.share,
            'ip',
            '10.0.0.1',
            '--lock-visibility',
            '--lock-deletion',
            '--lock-reason',
            'why',
        )
        self.assertEqual((['delete', 'show'], ['delete']), (self.locks(rule['id']), self.locks(self.share)))
        self.run_cli('share', 'access', 'delete', self.share, rule['id'], fails=True)
        self.run_cli('share', 'access', 'delete', self.share, rule['id'], '--unrestrict', '--wait')
        self.assertEqual([], self.cli('share', 'lock', 'list'))

    def test_the_sdk_locks_and_unlocks(self):
        proxy = openstack.connect(
            load_yaml_config=False,
            load_envvars=False,
            auth_type='none',
            shared_file_system_default_microversion='2.82',
            shared_file_system_endpoint_override=f'{self.url}/v2',
        ).shared_file_system
        lock = proxy.create_resource_lock(resource_id=self.share, resource_type='share', lock_reason='keep')
        self.assertEqual('admin', lock.lock_context)
        self.assertEqual('other', proxy.update_resource_lock(lock.id, lock_reason='other').lock_reason)
        self.assertEqual(
            [lock.id], [row.id for row in proxy.resource_locks(resource_type='share', resource_id=self.share)]
        )
        proxy.delete_resource_lock(lock.id)
        rule = proxy.create_access_rule(
            self.share,
            access_type='ip',
            access_to='10.0.0.2',
            access_level='rw',
            lock_visibility=True,
            lock_deletion=True,
            lock_reason='by a test',
        )
        self.assertEqual('10.0.0.2', rule.access_to)
        self.assertEqual(3, len(list(proxy.resource_locks(limit=2))), 'page by page')
        self.assertRaises(
            openstack.exceptions.ForbiddenException, proxy.delete_access_rule, rule.id, self.share
        )
        proxy.delete_access_rule(rule.id, self.share, unrestrict=True)
        self.rule(rule.id, 'gone')
        self.assertEqual([], list(proxy.resource_locks(all_projects=True)))
