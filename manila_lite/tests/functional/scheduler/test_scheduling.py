# SPDX-License-Identifier: Apache-2.0
"""Placement of shares: no capacity is promised twice, a failure leads to the next pool, refusals have a reason."""

import threading

import sqlalchemy as sa

from manila_lite.db import models
from manila_lite.db.queries import affinity, pool_reports
from manila_lite.tests import waiting
from manila_lite.tests.functional import base


class TwoBackends(base.ServiceTest):
    """Two backends of one pool each; beta is in a zone of its own."""

    BACKENDS = {'alpha': '', 'beta': 'backend_availability_zone = other\n'}

    def setUp(self):
        super().setUp()
        self.addCleanup(self.service.knob, 'alpha', '')
        self.addCleanup(self.service.knob, 'beta', '')

    def messages_of(self, share_id, caller):
        return caller.ok('GET', f'/messages?resource_id={share_id}')['messages']

    def test_share_is_placed_in_the_requested_zone(self):
        share = self.caller().share(availability_zone='other')
        self.assertEqual('other', share['availability_zone'])
        self.assertEqual('test@beta#pool1', self.admin.ok('GET', f'/shares/{share["id"]}')['share']['host'])

    def test_share_is_created_in_the_next_pool_when_one_fails(self):
        self.service.knob('alpha', 'create_share:fail_final')
        for _ in range(4):
            share = self.caller('next').share()
            self.assertEqual(
                'test@beta#pool1', self.admin.ok('GET', f'/shares/{share["id"]}')['share']['host']
            )

    def test_share_fails_with_a_message_when_all_pools_failed(self):
        for name in ('alpha', 'beta'):
            self.service.knob(name, 'create_share:fail_final')
        before = self.allocated()
        caller = self.caller('none')
        share = caller.share(wait='error')
        (message,) = self.messages_of(share['id'], caller)
        self.assertEqual(
            ('001', '002', 'ERROR'), (message['action_id'], message['detail_id'], message['message_level'])
        )
        self.assertIn('RetryFilter', message['user_message'])
        self.assertNotIn('test@', message['user_message'])
        self.assertEqual(before, self.allocated())

    def allocated(self):
        """Return the allocated GiB of all pools, which stay the same when a report turns claims into provisioned GiB."""
        with self.service.services.db.reader() as conn:
            return conn.execute(sa.select(sa.func.sum(models.pools.c.allocated_gb))).scalar()

    def test_message_names_the_filter_and_the_reason(self):
        caller = self.caller('why')
        self.admin.ok(
            'POST',
            '/types',
            {
                'share_type': {
                    'name': 'fast',
                    'extra_specs': {'driver_handles_share_servers': 'False', 'disk': 'ssd'},
                }
            },
        )
        share = caller.share(share_type='fast', wait='error')
        (message,) = self.messages_of(share['id'], caller)
        self.assertEqual('008', message['detail_id'])
        self.assertIn('CapabilitiesFilter', message['user_message'])
        self.assertIn("disk='ssd'", message['user_message'])
        share = caller.share(size=500, wait='error')
        (message,) = self.messages_of(share['id'], caller)
        self.assertEqual('009', message['detail_id'])
        self.assertIn('500 GiB asked for', message['user_message'])

    def test_hints_place_shares_together_or_apart(self):
        caller = self.caller('near')
        near, far = affinity.KEYS['same_host'], affinity.KEYS['different_host']
        first = caller.share(availability_zone='other')
        same = caller.share(scheduler_hints={'same_host': first['id']})
        other = caller.share(scheduler_hints={'different_host': first['id']})
        hosts = {self.admin.ok('GET', f'/shares/{share["id"]}')['share']['host'] for share in (first, same)}
        self.assertEqual({'test@beta#pool1'}, hosts)
        self.assertEqual('test@alpha#pool1', self.admin.ok('GET', f'/shares/{other["id"]}')['share']['host'])
        self.assertEqual({near: first['id']}, same['metadata'])
        self.assertEqual({near: same['id'], far: other['id']}, self.metadata(caller, first))
        self.assertEqual(403, caller.call('DELETE', f'/shares/{same["id"]}/metadata/{near}')[0])
        caller.ok('DELETE', f'/shares/{same["id"]}')
        self.assertEqual({far: other['id']}, self.metadata(caller, first))

    def metadata(self, caller, share):
        return caller.ok('GET', f'/shares/{share["id"]}/metadata')['metadata']

    def test_affinity_hint_to_a_share_not_yet_placed_is_followed(self):
        caller = self.caller('early')
        first = caller.share(wait=None, availability_zone='other')
        same = caller.share(scheduler_hints={'same_host': first['id']})
        self.assertEqual('test@beta#pool1', self.admin.ok('GET', f'/shares/{same["id"]}')['share']['host'])

    def test_share_with_an_impossible_affinity_hint_fails_with_a_message(self):
        caller = self.caller('far')
        first = caller.share()
        for hints, said in (
            ({'same_host': first['id'], 'different_host': first['id']}, 'different_host'),
            ({'same_host': caller.share(wait='error', size=900)['id']}, 'on no backend'),
        ):
            share = caller.share(wait='error', scheduler_hints=hints)
            (message,) = self.messages_of(share['id'], caller)
            self.assertIn(said, message['user_message'])
            self.assertNotIn('test@', message['user_message'])

    def test_invalid_scheduler_hints_are_refused(self):
        caller = self.caller('hints')
        body = {'size': 1, 'share_proto': 'NFS', 'scheduler_hints': {'only_host': 'test@alpha#pool1'}}
        self.assertEqual(403, caller.call('POST', '/shares', {'share': body})[0])
        for ignored, hint, version in (
            ('.only_host', 'only_host', '2.66'),
            ('.near', 'near', '2.67'),
            ('', 'same_host', '2.64'),
        ):
            status, document, headers = self.admin.call(
                'POST',
                '/shares',
                {'share': {**body, 'scheduler_hints': {hint: 'test@alpha#pool1'}}},
                version=version,
            )
            self.assertEqual(
                (200, f'share.scheduler_hints{ignored}'),
                (status, headers['X-OpenStack-Manila-Ignored-Fields']),
            )
            self.admin.wait(f'/shares/{document["share"]["id"]}', 'share', 'available')
        for hints, status in (
            ({'same_host': '00000000-0000-4000-8000-000000000000'}, 404),
            ({'same_host': ','.join(['00000000-0000-4000-8000-000000000000', *map(str, range(400))])}, 400),
        ):
            refused = caller.call('POST', '/shares', {'share': {**body, 'scheduler_hints': hints}})
            self.assertEqual(status, refused[0], refused)


class Capacity(base.ServiceTest):
    """One pool of 100 GiB."""

    def test_concurrent_creations_never_exceed_the_pool_capacity(self):
        second = type(self.service.scheduler)(self.service.services)
        second.start()
        self.addCleanup(second.stop)
        self._settle()
        caller = self.caller('crowd')
        made = []

        def create():
            made.append(caller.share(size=30, wait=None)['id'])

        threads = [threading.Thread(target=create) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        found = [
            caller.wait(f'/shares/{share_id}', 'share', {'available', 'error'})['status'] for share_id in made
        ]
        self.assertEqual((3, 5), (found.count('available'), found.count('error')))
        for share_id in made:
            caller.ok('DELETE', f'/shares/{share_id}')
        for share_id in made:
            caller.wait(f'/shares/{share_id}', 'share', 'gone')
        self.service.knob('alpha', '')
        self.manager.report_soon()
        self._empty()

    def _settle(self):
        """Let the backend report now, and not while shares are made: that would count some of them twice, to be safe:
        once as promised, once as capacity that is not free.
        """
        self.manager._report()
        self.service.knob('alpha', 'report:fail')
        self.addCleanup(self.service.knob, 'alpha', '')
        with self.manager._reporting:
            pass  # waits until a report under way is written

    @property
    def manager(self):
        return self.service.managers['alpha']

    def _pool(self):
        with self.service.services.db.reader() as conn:
            (pool,) = pool_reports.list_pools(conn)
        return pool

    def _empty(self):
        def empty():
            pool = self._pool()
            return (pool.allocated_gb, pool.claimed_gb, pool.provisioned_gb) == (0, 0, 0)

        waiting.until(empty, self._pool, pause=0.05)

    def test_extension_beyond_the_capacity_leaves_the_size_unchanged(self):
        caller = self.caller('wide')
        share = caller.share(size=10)
        self.assertEqual(202, caller.action(share['id'], 'extend', {'new_size': 200})[0])
        share = caller.wait(f'/shares/{share["id"]}', 'share', 'available')
        self.assertEqual(10, share['size'])
        (message,) = caller.ok('GET', f'/messages?resource_id={share["id"]}')['messages']
        self.assertEqual(('008', '009'), (message['action_id'], message['detail_id']))
        self.assertEqual(10, caller.ok('GET', '/quota-sets/wide/detail')['quota_set']['gigabytes']['in_use'])
        caller.ok('DELETE', f'/shares/{share["id"]}')

    def test_restarted_scheduler_places_shares(self):
        self.service.scheduler.stop()
        self.service.scheduler = type(self.service.scheduler)(self.service.services)
        self.service.scheduler.start()
        caller = self.caller('again')
        share = caller.share()
        caller.ok('DELETE', f'/shares/{share["id"]}')


class Large(base.ServiceTest):
    """One pool of a hundred PiB and a few GiB."""

    BACKENDS = {'alpha': 'dummy_pool_size_gb = 104857631.25'}

    def test_capacity_of_a_large_pool_is_reported_exactly(self):
        self.admin.share(size=7)
        (pool,) = self.admin.ok('GET', '/scheduler-stats/pools/detail')['pools']
        self.assertEqual(
            (104857631.25, 7),
            (pool['capabilities']['total_capacity_gb'], pool['capabilities']['allocated_capacity_gb']),
        )


class Backend(base.ServiceTest):
    """Operations on a backend that fails, hangs or refuses."""

    def setUp(self):
        super().setUp()
        self.addCleanup(self.service.knob, 'alpha', '')

    def test_creation_is_retried_after_a_temporary_failure(self):
        self.service.knob('alpha', 'create_share:fail@once')
        self.assertEqual('available', self.caller('h').share()['status'])

    def test_failed_deletion_can_be_repeated(self):
        caller = self.caller('d')
        share = caller.share()
        self.service.knob('alpha', 'delete_share:fail_final')
        caller.ok('DELETE', f'/shares/{share["id"]}', wait=False)
        caller.wait(f'/shares/{share["id"]}', 'share', 'error_deleting')
        self.service.knob('alpha', '')
        caller.ok('DELETE', f'/shares/{share["id"]}')

    def test_refused_shrink_leaves_the_share_unchanged(self):
        caller = self.caller('s')
        share = caller.share(size=5)
        self.service.knob('alpha', 'shrink_share:refuse')
        status, document, _ = caller.action(share['id'], 'shrink', {'new_size': 1})
        self.assertEqual(202, status, document)
        share = caller.wait(f'/shares/{share["id"]}', 'share', {'available', 'shrinking_error'})
        self.assertEqual((5, 'available'), (share['size'], share['status']))
        (message,) = caller.ok('GET', f'/messages?resource_id={share["id"]}')['messages']
        self.assertEqual('018', message['detail_id'])

    def test_force_delete_removes_a_share_in_creation(self):
        caller = self.caller('f')
        self.service.knob('alpha', 'create_share:hang')
        share = caller.share(wait=None)
        caller.wait(f'/shares/{share["id"]}', 'share', 'creating')
        self.assertEqual(403, caller.call('DELETE', f'/shares/{share["id"]}')[0])
        self.admin.ok('POST', f'/shares/{share["id"]}/action', {'force_delete': None})
        self.service.knob('alpha', '')
        caller.wait(f'/shares/{share["id"]}', 'share', 'gone')

    def test_access_rules_granted_together_need_few_driver_calls(self):
        caller = self.caller('r')
        share = caller.share()
        calls = self.service.state / 'alpha' / 'calls'
        before = calls.read_text().count('update_access')
        self.service.knob('alpha', 'update_access:hang')
        for number in range(10):
            caller.ok(
                'POST',
                f'/shares/{share["id"]}/action',
                {'allow_access': {'access_type': 'ip', 'access_to': f'10.0.0.{number}'}},
            )
        self.service.knob('alpha', '')
        caller.wait(f'/shares/{share["id"]}', 'share', 'active', field='access_rules_status')
        found = {
            rule['state']
            for rule in caller.ok('GET', f'/share-access-rules?share_id={share["id"]}')['access_list']
        }
        self.assertEqual({'active'}, found)
        self.assertLessEqual(calls.read_text().count('update_access') - before, 3)

    def test_access_rule_is_applied_while_a_snapshot_is_taken(self):
        caller = self.caller('g')
        share = caller.share()
        self.service.knob('alpha', 'create_snapshot:hang')
        caller.ok('POST', '/snapshots', {'snapshot': {'share_id': share['id']}})
        rule = caller.ok(
            'POST',
            f'/shares/{share["id"]}/action',
            {'allow_access': {'access_type': 'ip', 'access_to': '10.0.0.1'}},
        )['access']
        caller.wait(f'/share-access-rules/{rule["id"]}', 'access', 'active', field='state')
        self.service.knob('alpha', '')

    def test_access_rule_refused_by_the_backend_is_in_error_and_can_be_removed(self):
        self.service.conf.set_override('dummy_access_types', ['ip'], group='alpha')
        self.addCleanup(self.service.conf.clear_override, 'dummy_access_types', group='alpha')
        caller = self.caller('x')
        share = caller.share()
        rule = caller.ok(
            'POST',
            f'/shares/{share["id"]}/action',
            {'allow_access': {'access_type': 'cert', 'access_to': 'somebody'}},
        )['access']
        caller.wait(f'/share-access-rules/{rule["id"]}', 'access', 'error', field='state')
        self.assertEqual('error', caller.ok('GET', f'/shares/{share["id"]}')['share']['access_rules_status'])
        (message,) = caller.ok('GET', f'/messages?resource_id={share["id"]}')['messages']
        self.assertIn('somebody', message['user_message'])
        caller.ok('POST', f'/shares/{share["id"]}/action', {'deny_access': {'access_id': rule['id']}})
        caller.wait(f'/share-access-rules/{rule["id"]}', 'access', 'gone', field='state')
        caller.wait(f'/shares/{share["id"]}', 'share', 'active', field='access_rules_status')
