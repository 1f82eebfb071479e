# SPDX-License-Identifier: Apache-2.0
"""Access rules from the API to the backend: many in one call, none lost, each with a final state."""

import concurrent.futures
import time
import urllib.parse

from manila_lite.db.core import paging
from manila_lite.db.core.engine import retry
from manila_lite.db.queries import messages, metrics_queries
from manila_lite.db.queries import operations as rows
from manila_lite.drivers.dummy.driver import DummyDriver
from manila_lite.tests import waiting
from manila_lite.tests.functional import base


class Access(base.ServiceTest):
    """One dummy backend without faults at the start of every test."""

    BACKENDS = {'alpha': 'dummy_admin_export_ip = 10.9.9.9'}

    def setUp(self):
        super().setUp()
        self.knobs()
        # Work left by the test before would use up a fault that occurs only once.
        waiting.until(lambda: not self.under_way(), self.under_way)
        self.user = self.caller()
        self.share = self.user.share()['id']
        self.instance = self.admin.ok('GET', f'/shares/{self.share}/instances')['share_instances'][0]['id']

    def knobs(self, *lines):
        self.service.knob('alpha', *lines)

    def under_way(self):
        """Return the kinds of open operations."""
        with self.service.services.db.reader() as conn:
            return list(metrics_queries.open_operations(conn, ()))

    @property
    def driver(self) -> DummyDriver:
        return self.service.managers['alpha'].driver

    def in_force(self):
        """Return the (address, level) pairs that the backend grants."""
        return sorted(
            (to, level) for _type, to, level in self.driver.store.share(self.instance).rules.values()
        )

    def calls(self):
        """Return the number of calls of the backend about this share's rules."""
        return len([ids for _, ids in self.driver.store.calls('update_access') if ids == self.instance])

    def allow(self, to, level='rw', kind='ip', **more):
        body = {'access_type': kind, 'access_to': to, 'access_level': level}
        status, document, _ = self.user.action(self.share, 'allow_access', body, **more)
        self.assertEqual(200, status, document)
        return document['access']

    def deny(self, resource_id, status=202):
        self.assertEqual(status, self.user.action(self.share, 'deny_access', {'access_id': resource_id})[0])

    def wait(self, rule_id, state):
        return self.user.wait(f'/share-access-rules/{rule_id}', 'access', state, field='state')

    def settled(self, status='active'):
        self.user.wait(f'/shares/{self.share}', 'share', status, field='access_rules_status')

    def reach(self, count):
        waiting.until(lambda: self.calls() >= count, f'the backend is called {count} times', pause=0.01)

    def messages(self):
        with self.service.services.db.reader() as conn:
            return [
                messages.user_message(row)
                for row in messages.list_messages(
                    conn, self.service.context(), {'resource_id': self.share}, paging.Page()
                )
            ]

    def test_rule_becomes_active_and_is_removed_when_denied(self):
        rule = self.allow('10.0.0.5', 'ro')
        self.assertEqual('queued_to_apply', rule['state'])
        self.wait(rule['id'], 'active')
        self.settled()
        self.assertEqual([('10.0.0.5', 'ro')], self.in_force())
        self.deny(rule['id'])
        self.wait(rule['id'], 'gone')
        self.settled()
        self.assertEqual([], self.in_force())

    def test_rules_queued_while_the_backend_is_at_work_take_one_more_call(self):
        self.knobs('update_access:hang')
        first = self.allow('10.0.0.1')
        self.reach(1)
        others = [self.allow(f'10.0.1.{number}')['id'] for number in range(20)]
        self.assertEqual(
            'syncing', self.user.ok('GET', f'/shares/{self.share}')['share']['access_rules_status']
        )
        self.knobs()
        for resource_id in (first['id'], *others):
            self.wait(resource_id, 'active')
        self.settled()
        self.assertEqual(21, len(self.in_force()))
        self.assertEqual(2, self.calls())

    def test_rules_granted_and_denied_at_once_take_one_call(self):
        old = self.allow('10.0.0.1')['id']
        self.wait(old, 'active')
        calls = self.calls()
        self.service.stop()
        rules = [self.allow(f'10.0.1.{number}')['id'] for number in range(25)]
        self.deny(old)
        self.service.start()
        for rule_id in rules:
            self.wait(rule_id, 'active')
        self.settled()
        self.assertEqual((25, calls + 1), (len(self.in_force()), self.calls()))

    def test_simultaneous_rules_share_backend_calls(self):
        self.knobs('update_access:hang')
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            rules = list(pool.map(lambda number: self.allow(f'10.2.0.{number}')['id'], range(16)))
        self.knobs()
        for rule_id in rules:
            self.wait(rule_id, 'active')
        self.settled()
        self.assertEqual(16, len(self.in_force()))
        self.assertLessEqual(self.calls(), 2)

    def test_same_rule_requested_eight_times_at_once_is_created_once(self):
        def ask(_):
            return self.user.action(
                self.share, 'allow_access', {'access_type': 'ip', 'access_to': '10.0.0.9'}
            )[0]

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            self.assertEqual([200] + [400] * 7, sorted(pool.map(ask, range(8))))
        rules = self.user.ok('GET', f'/share-access-rules?share_id={self.share}')['access_list']
        self.assertEqual(1, len(rules))

    def knows(self, *types):
        """Make the backend support rules of these types only."""
        self.service.conf.set_override('dummy_access_types', types, group='alpha')
        self.addCleanup(self.service.conf.clear_override, 'dummy_access_types', group='alpha')

    def test_every_rule_type_becomes_active_and_cephx_rules_get_keys(self):
        wanted = {'ip': 'fd00::/64', 'user': 'anna', 'cert': 'client.example.org', 'cephx': 'alice'}
        idents = {kind: self.allow(to, kind=kind)['id'] for kind, to in wanted.items()}
        rules = {kind: self.wait(resource_id, 'active') for kind, resource_id in idents.items()}
        self.assertEqual(wanted, {kind: rule['access_to'] for kind, rule in rules.items()})
        self.assertEqual([(to, 'rw') for to in sorted(wanted.values())], self.in_force())
        key = rules['cephx']['access_key']
        self.assertEqual(40, len(key))
        base.eventually(
            lambda: all(row.state == rows.DONE for row in self.syncs()), 'an operation stays open'
        )
        self.assertTrue(self.syncs())
        self.assertNotIn(key, repr([row.data for row in self.syncs()]))
        self.assertEqual({None}, {rule['access_key'] for kind, rule in rules.items() if kind != 'cephx'})
        path = f'/share-access-rules?share_id={self.share}'
        for key_asked_for, found in ((key, [idents['cephx']]), ('other', [])):
            asked = urllib.parse.quote(key_asked_for, safe='')
            listed = self.user.ok('GET', f'{path}&access_key={asked}')['access_list']
            self.assertEqual(found, [rule['id'] for rule in listed])
        times = {'created_at', 'updated_at'}
        for version, fields in (('2.20', set()), ('2.21', {'access_key'}), ('2.33', {'access_key', *times})):
            listed = self.user.ok(
                'POST', f'/shares/{self.share}/action', {'access_list': None}, version=version
            )['access_list']
            self.assertEqual(
                {'id', 'access_type', 'access_to', 'access_level', 'state'} | fields, set(listed[0]), version
            )

    def test_rule_of_an_unsupported_type_ends_in_error_with_a_reason(self):
        self.knows('ip', 'user')
        good, bad = self.allow('10.0.0.1')['id'], self.allow('some-certificate', kind='cert')['id']
        self.wait(bad, 'error')
        self.wait(good, 'active')
        self.settled('error')
        self.assertEqual([('10.0.0.1', 'rw')], self.in_force())
        self.assertIn('some-certificate', self.messages()[0])
        self.assertIn('does not support access rules of type cert', self.messages()[0])
        self.assertIn('Delete it', self.messages()[0])
        old = self.user.call(
            'POST',
            f'/shares/{self.share}/action',
            {'allow_access': {'access_type': 'ip', 'access_to': '10.0.0.3'}},
            version='2.27',
        )
        self.assertEqual(400, old[0])
        self.wait(self.allow('10.0.0.3')['id'], 'active')
        self.deny(bad)
        self.wait(bad, 'gone')
        self.settled()

    def test_active_rule_is_in_error_after_its_type_loses_support(self):
        first = self.allow('10.0.0.1')['id']
        self.wait(first, 'active')
        self.knows('user')
        second = self.allow('anna', kind='user')['id']
        self.wait(second, 'active')
        self.wait(first, 'error')
        self.settled('error')

    def test_rules_are_in_error_while_the_backend_fails(self):
        active = self.allow('10.0.0.1')['id']
        self.wait(active, 'active')
        calls = self.calls()
        # It fails by the second knob, after the first is removed: both rules are asked for before its last try.
        self.knobs('update_access:hang', 'update_access:fail')
        fresh = self.allow('10.0.0.2')['id']
        self.reach(calls + 1)
        self.deny(active)
        self.knobs('update_access:fail')
        self.wait(fresh, 'error')
        self.wait(active, 'error')
        self.settled('error')
        self.assertEqual(1, len(self.messages()))
        self.knobs()
        self.deny(active)
        self.deny(fresh)
        self.wait(active, 'gone')
        self.wait(fresh, 'gone')
        self.settled()
        self.assertEqual([], self.in_force())

    def test_rules_queued_during_a_final_backend_failure_are_tried_once_more_with_the_others(self):
        old = self.allow('10.0.0.1')['id']
        self.wait(old, 'active')
        calls = self.calls()
        # A call that hangs fails by the knobs that were set when it began.
        self.knobs('update_access:hang', 'update_access:fail_final')
        told = self.allow('10.0.0.2')['id']
        self.reach(calls + 1)
        queued = self.allow('10.0.0.3')['id']
        self.deny(old)
        self.knobs()
        for resource_id, state in ((told, 'active'), (queued, 'active'), (old, 'gone')):
            self.wait(resource_id, state)
        self.settled('active')
        self.assertEqual(calls + 2, self.calls())

    def test_transient_failure_and_partial_answer_are_retried(self):
        self.knobs('update_access:fail@once', 'update_access:partial@once')
        rule = self.allow('10.0.0.1')['id']
        self.wait(rule, 'active')
        self.assertEqual([('10.0.0.1', 'rw')], self.in_force())
        self.assertEqual(3, self.calls())

    def test_rule_denied_before_it_is_applied_is_removed(self):
        self.knobs('update_access:hang')
        first = self.allow('10.0.0.1')['id']
        self.reach(1)
        queued = self.allow('10.0.0.2')['id']
        self.deny(first)
        self.deny(queued)
        self.deny(queued)
        self.knobs()
        self.wait(first, 'gone')
        self.wait(queued, 'gone')
        self.settled()
        self.assertEqual([], self.in_force())

    def test_access_level_change_reaches_the_backend(self):
        rule = self.allow('10.0.0.1')['id']
        self.wait(rule, 'active')
        changed = self.user.ok(
            'PUT', f'/share-access-rules/{rule}', {'update_access': {'access_level': 'ro'}}
        )['access']
        self.assertEqual(('ro', 'queued_to_update'), (changed['access_level'], changed['state']))
        self.wait(rule, 'active')
        self.assertEqual([('10.0.0.1', 'ro')], self.in_force())
        calls = self.calls()
        same = self.user.ok('PUT', f'/share-access-rules/{rule}', {'update_access': {'access_level': 'ro'}})[
            'access'
        ]
        self.assertEqual('active', same['state'])
        self.settled()
        self.assertEqual(calls, self.calls())

    def test_access_level_change_is_refused_while_the_rule_is_being_applied(self):
        self.knobs('update_access:hang')
        rule = self.allow('10.0.0.1')['id']
        status, document, _ = self.user.call(
            'PUT', f'/share-access-rules/{rule}', {'update_access': {'access_level': 'ro'}}
        )
        self.assertEqual(400, status, document)
        self.knobs()
        self.wait(rule, 'active')

    def test_old_versions_show_queued_rules_as_new(self):
        self.knobs('update_access:hang')
        rule = self.allow('10.0.0.1')['id']
        path = f'/shares/{self.share}/action'
        rules = self.user.ok('POST', path, {'access_list': None}, version='2.27')['access_list']
        self.assertEqual(['new'], [row['state'] for row in rules])
        self.assertEqual(
            'out_of_sync',
            self.user.ok('GET', f'/shares/{self.share}', version='2.27')['share']['access_rules_status'],
        )
        now = self.user.ok('POST', path, {'access_list': None}, version='2.28')['access_list'][0]['state']
        self.assertIn(now, ('queued_to_apply', 'applying'))
        self.knobs()
        self.wait(rule, 'active')

    def test_rule_changes_are_refused_while_the_share_is_being_deleted(self):
        rule = self.allow('10.0.0.1')['id']
        self.wait(rule, 'active')
        self.knobs('delete_share:hang')
        self.user.ok('DELETE', f'/shares/{self.share}', wait=False)
        self.deny(rule, 400)
        status, document, _ = self.user.action(
            self.share, 'allow_access', {'access_type': 'ip', 'access_to': '10.0.0.2'}
        )
        self.assertEqual((400, 'share_not_available'), (status, document['badRequest']['reason']))
        self.knobs()
        self.user.wait(f'/shares/{self.share}', 'share', 'gone')
        self.assertEqual(404, self.user.call('GET', f'/share-access-rules/{rule}')[0])

    def test_rule_queued_just_before_share_deletion_leaves_no_operation(self):
        self.knobs('update_access:fail@once', 'delete_share:hang')
        self.allow('10.0.0.1')
        self.user.ok('DELETE', f'/shares/{self.share}', wait=False)
        # The next try for the rule must come during the deletion.
        time.sleep(1.5)  # sleeps: that try leaves no trace
        self.knobs()
        self.user.wait(f'/shares/{self.share}', 'share', 'gone')
        waiting.until(lambda: not self.is_open(), 'the operation ends', pause=0.1)
        self.assertEqual([], self.messages())

    def syncs(self):
        """Return the operations that sent the share's rules to the backend."""
        with self.service.services.db.reader() as conn:
            return rows.list_of_resource(conn, self.share, 'access.sync')

    @retry
    def is_open(self):
        with self.service.services.db.writer() as conn:
            return rows.request_rerun(conn, f'access:{self.share}') is not None

    def test_rule_can_be_denied_after_share_deletion_failed(self):
        rule = self.allow('10.0.0.1')['id']
        self.wait(rule, 'active')
        self.knobs('delete_share:fail_final')
        self.user.ok('DELETE', f'/shares/{self.share}', wait=False)
        self.user.wait(f'/shares/{self.share}', 'share', 'error_deleting')
        self.deny(rule)
        self.wait(rule, 'gone')
        self.assertEqual([], self.in_force())

    def test_rule_with_locks_set_to_false_or_null_is_accepted(self):
        status, _, _ = self.user.action(
            self.share,
            'allow_access',
            {'access_type': 'ip', 'access_to': '10.0.0.1', 'lock_visibility': False, 'lock_deletion': None},
        )
        self.assertEqual(200, status)

    def test_rules_of_another_project_are_not_found_and_those_of_its_public_share_forbidden(self):
        rule = self.allow('10.0.0.1')['id']
        self.admin.ok('PUT', f'/shares/{self.share}', {'share': {'is_public': True}})
        other = self.caller(project='q')
        path = f'/share-access-rules/{rule}'
        for method, where, body in (
            ('GET', path, None),
            ('PUT', path, {'update_access': {'access_level': 'ro'}}),
            ('PUT', f'{path}/metadata', {'metadata': {'a': 'b'}}),
            ('DELETE', f'{path}/metadata/a', None),
        ):
            self.assertEqual(404, other.call(method, where, body)[0], (method, where))
        for method, where, body in (
            ('GET', f'/share-access-rules?share_id={self.share}', None),
            ('POST', f'/shares/{self.share}/action', {'deny_access': {'access_id': rule}}),
            (
                'POST',
                f'/shares/{self.share}/action',
                {'allow_access': {'access_type': 'ip', 'access_to': '10.0.0.2'}},
            ),
        ):
            self.assertEqual(403, other.call(method, where, body)[0], (method, where))
        self.assertEqual(200, self.admin.call('GET', path)[0])

    def test_rule_cannot_be_denied_through_another_share(self):
        rule = self.allow('10.0.0.1')['id']
        elsewhere = self.user.share()['id']
        self.assertEqual(404, self.user.action(elsewhere, 'deny_access', {'access_id': rule})[0])

    def test_readers_can_show_but_not_change_rules(self):
        rule = self.allow('10.0.0.1')['id']
        reader = self.caller(roles='reader')
        self.assertEqual(200, reader.call('GET', f'/share-access-rules/{rule}')[0])
        self.assertEqual(403, reader.action(self.share, 'deny_access', {'access_id': rule})[0])
        self.assertEqual(
            403, reader.action(self.share, 'allow_access', {'access_type': 'ip', 'access_to': '10.0.0.2'})[0]
        )

    def test_admin_only_export_locations_are_hidden_from_users(self):
        path = f'/shares/{self.share}/export_locations'
        hidden = [row for row in self.admin.ok('GET', path)['export_locations'] if row['is_admin_only']]
        self.assertEqual(['10.9.9.9'], [row['path'].partition(':')[0] for row in hidden])
        self.assertEqual(self.instance, hidden[0]['share_instance_id'])
        mine = self.user.ok('GET', path)['export_locations']
        self.assertEqual(2, len(mine))
        self.assertFalse({'is_admin_only', 'share_instance_id'} & set(mine[0]))
        for tail in ('', '/metadata', '/metadata/a'):
            self.assertEqual(404, self.user.call('GET', f'{path}/{hidden[0]["id"]}{tail}')[0])
        self.assertEqual(
            404, self.user.call('PUT', f'{path}/{hidden[0]["id"]}/metadata', {'metadata': {'a': 'b'}})[0]
        )
        self.assertEqual(200, self.admin.call('GET', f'{path}/{hidden[0]["id"]}')[0])
        where = f'{path}/{hidden[0]["id"]}/metadata'
        self.assertEqual('b', self.admin.ok('PUT', where, {'metadata': {'a': 'b'}})['metadata']['a'])
        self.assertEqual('b', self.admin.ok('GET', where)['metadata']['a'])

    def test_rule_changes_made_while_the_service_is_down_are_applied(self):
        rule = self.allow('10.0.0.1')['id']
        self.wait(rule, 'active')
        self.service.stop()
        fresh = self.allow('10.0.0.2')['id']
        self.deny(rule)
        self.service.start()
        self.wait(fresh, 'active')
        self.wait(rule, 'gone')
        self.assertEqual([('10.0.0.2', 'rw')], self.in_force())
