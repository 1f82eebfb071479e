# SPDX-License-Identifier: Apache-2.0
"""Access rules of snapshots, from the API to the backend."""

from manila_lite.db import models
from manila_lite.tests.dummy_reboot import lose_exports
from manila_lite.tests.functional import base
from manila_lite.tests.functional.migrations import test_share_migration


class SnapshotAccess(base.ServiceTest):
    """One dummy backend, without faults at the start of each test."""

    BACKENDS = {'alpha': 'dummy_admin_export_ip = 10.9.9.9\ndummy_access_types = ip,user'}

    def setUp(self):
        super().setUp()
        self.knobs()
        self.user = self.caller()
        self.share = self.user.share()['id']

    def knobs(self, *lines):
        self.service.knob('alpha', *lines)

    @property
    def store(self):
        return self.service.managers['alpha'].driver.store

    def snapshot(self, share=None):
        made = self.user.ok('POST', '/snapshots', {'snapshot': {'share_id': share or self.share}})['snapshot']
        self.user.wait(f'/snapshots/{made["id"]}', 'snapshot', 'available')
        return made['id']

    def in_force(self, snapshot):
        """Return the addresses and access levels of the rules at the backend."""
        return sorted((to, level) for _type, to, level in self.store.snapshot(snapshot).rules.values())

    def act(self, snapshot, action, body):
        return self.user.call('POST', f'/snapshots/{snapshot}/action', {action: body})[:2]

    def allow(self, snapshot, to, kind='ip'):
        status, document = self.act(snapshot, 'allow_access', {'access_type': kind, 'access_to': to})
        self.assertEqual(202, status, document)
        return document['snapshot_access']['id']

    def states(self, snapshot):
        found = self.user.ok('GET', f'/snapshots/{snapshot}/access-list')['snapshot_access_list']
        return {rule['access_to']: rule['state'] for rule in found}

    def settled(self, snapshot, states):
        base.eventually(lambda: self.states(snapshot) == states, f'the rules are not {states}')

    def granted(self, snapshot, rules):
        base.eventually(lambda: self.in_force(snapshot) == rules, f'{rules} are not in force')

    def messages(self, snapshot):
        return [
            row['user_message']
            for row in self.user.ok('GET', f'/messages?resource_id={snapshot}')['messages']
        ]

    def paths(self, snapshot, caller=None):
        found = (caller or self.user).ok('GET', f'/snapshots/{snapshot}/export-locations')
        return [place['path'] for place in found['share_snapshot_export_locations']]

    def test_access_rule_is_applied_and_removed_at_the_backend(self):
        snapshot = self.snapshot()
        rule = self.allow(snapshot, '10.0.0.5')
        self.settled(snapshot, {'10.0.0.5': 'active'})
        self.assertEqual([('10.0.0.5', 'ro')], self.in_force(snapshot))
        self.assertEqual(202, self.act(snapshot, 'deny_access', {'access_id': rule})[0])
        self.settled(snapshot, {})
        self.assertEqual([], self.in_force(snapshot))

    def test_access_rules_added_during_a_backend_call_are_all_applied(self):
        snapshot = self.snapshot()
        self.knobs('serve_snapshot:hang')
        wanted = [f'10.0.1.{number}' for number in range(1, 9)]
        for to in wanted:
            self.allow(snapshot, to)
        self.knobs()
        self.settled(snapshot, dict.fromkeys(wanted, 'active'))
        self.assertEqual([(to, 'ro') for to in wanted], self.in_force(snapshot))

    def test_access_rule_refused_by_the_backend_is_in_error_with_a_message(self):
        snapshot = self.snapshot()
        self.allow(snapshot, 'somebody', 'cert')
        self.allow(snapshot, '10.0.0.5')
        self.settled(snapshot, {'somebody': 'error', '10.0.0.5': 'active'})
        self.assertEqual([('10.0.0.5', 'ro')], self.in_force(snapshot))
        self.assertIn('cert somebody', self.messages(snapshot)[0])

    def test_access_rule_is_in_error_after_a_backend_failure_and_can_be_removed(self):
        snapshot = self.snapshot()
        self.knobs('serve_snapshot:fail_final')
        rule = self.allow(snapshot, '10.0.0.5')
        self.settled(snapshot, {'10.0.0.5': 'error'})
        self.assertIn('serve_snapshot cannot be done', self.messages(snapshot)[0])
        self.knobs()
        self.act(snapshot, 'deny_access', {'access_id': rule})
        self.settled(snapshot, {})

    def test_admin_export_location_is_shown_to_administrators_only(self):
        """Show the export location for administrators only to them."""
        snapshot = self.snapshot()
        self.assertEqual(
            [f'10.0.0.1:/shares/{snapshot}', f'[fd00::1]:/shares/{snapshot}'], self.paths(snapshot)
        )
        self.assertEqual(f'10.9.9.9:/shares/{snapshot}', self.paths(snapshot, self.admin)[-1])

    def test_snapshot_with_access_rules_can_be_deleted(self):
        snapshot = self.snapshot()
        self.allow(snapshot, '10.0.0.5')
        self.settled(snapshot, {'10.0.0.5': 'active'})
        self.user.ok('DELETE', f'/snapshots/{snapshot}')
        self.assertIsNone(self.store.snapshots.get(snapshot))

    def test_access_rules_lost_by_a_reboot_are_restored_by_an_ensure_run(self):
        snapshot = self.snapshot()
        self.allow(snapshot, '10.0.0.5')
        self.settled(snapshot, {'10.0.0.5': 'active'})
        lose_exports(self.service.managers['alpha'].driver)
        self.assertEqual([], self.in_force(snapshot))
        self.ask_to_ensure('test@alpha')
        self.granted(snapshot, [('10.0.0.5', 'ro')])

    def test_access_rule_is_refused_without_mount_snapshot_support(self):
        self.admin.ok(
            'POST',
            '/types',
            {
                'share_type': {
                    'name': 'plain',
                    'extra_specs': {'driver_handles_share_servers': 'False', 'snapshot_support': 'True'},
                }
            },
        )
        snapshot = self.snapshot(self.user.share(share_type='plain')['id'])
        self.assertEqual([], self.paths(snapshot))
        self.assertFalse(self.store.snapshot(snapshot).exported)
        status, document = self.act(snapshot, 'allow_access', {'access_type': 'ip', 'access_to': '10.0.0.5'})
        self.assertEqual((400, 'mount_snapshot_not_supported'), (status, document['badRequest']['reason']))

    def inheriting(self):
        """Make a share whose rules hold for its snapshots, with a rule and a snapshot; return the three ids."""
        name = f'inheriting-{self.id().rpartition(".")[2]}'
        self.admin.ok(
            'POST',
            '/types',
            {
                'share_type': {
                    'name': name,
                    'extra_specs': {
                        'driver_handles_share_servers': 'False',
                        'snapshot_support': 'True',
                        'mount_snapshot_support': 'True',
                        'snapshot_inherit_share_access_support': 'True',
                    },
                }
            },
        )
        share = self.user.share(share_type=name)
        self.assertIs(True, share['snapshot_inherit_share_access_support'])
        rule = self.user.action(share['id'], 'allow_access', {'access_type': 'ip', 'access_to': '10.0.0.7'})[
            1
        ]['access']['id']
        self.user.wait(f'/share-access-rules/{rule}', 'access', 'active', field='state')
        return share['id'], rule, self.snapshot(share['id'])

    def test_snapshots_inherit_share_access_rules_if_the_type_says_so(self):
        """Apply the share's rules to a snapshot, read-only, from its creation until they are denied."""
        share, rule, snapshot = self.inheriting()
        self.assertEqual([('10.0.0.7', 'ro')], self.in_force(snapshot))
        other = self.user.action(share, 'allow_access', {'access_type': 'ip', 'access_to': '10.0.0.8'})[0]
        self.assertEqual(200, other)
        self.granted(snapshot, [('10.0.0.7', 'ro'), ('10.0.0.8', 'ro')])
        self.assertEqual(202, self.user.action(share, 'deny_access', {'access_id': rule})[0])
        self.granted(snapshot, [('10.0.0.8', 'ro')])

    def test_snapshot_that_inherits_rules_gets_none_of_its_own(self):
        share, rule, snapshot = self.inheriting()
        for action, body in (
            ('allow_access', {'access_type': 'ip', 'access_to': '10.0.0.5'}),
            ('deny_access', {'access_id': rule}),
        ):
            status, document = self.act(snapshot, action, body)
            self.assertEqual((400, 'snapshot_inherits_access'), (status, document['badRequest']['reason']))
            self.assertIn(share, document['badRequest']['message'])
        self.assertEqual([('10.0.0.7', 'ro')], self.in_force(snapshot))
        with self.service.services.db.writer() as conn:  # a rule of its own, from before such were refused
            conn.execute(
                models.shares.update()
                .where(models.shares.c.id == share)
                .values(snapshot_inherit_share_access_support=False)
            )
        own = self.allow(snapshot, '10.0.0.5')
        self.settled(snapshot, {'10.0.0.5': 'active'})
        with self.service.services.db.writer() as conn:
            conn.execute(
                models.shares.update()
                .where(models.shares.c.id == share)
                .values(snapshot_inherit_share_access_support=True)
            )
        self.assertEqual(202, self.act(snapshot, 'deny_access', {'access_id': own})[0])
        self.granted(snapshot, [('10.0.0.7', 'ro')])

    def test_denied_share_rule_is_removed_from_a_snapshot_in_error(self):
        share, rule, snapshot = self.inheriting()
        self.admin.ok('POST', f'/snapshots/{snapshot}/action', {'reset_status': {'status': 'error'}})
        self.assertEqual(202, self.user.action(share, 'deny_access', {'access_id': rule})[0])
        self.granted(snapshot, [])
        self.assertEqual([], self.messages(snapshot))

    def test_share_rules_are_not_applied_to_a_failed_snapshot(self):
        share = self.inheriting()[0]
        self.knobs('create_snapshot:fail_final')
        made = self.user.ok('POST', '/snapshots', {'snapshot': {'share_id': share}})['snapshot']['id']
        self.user.wait(f'/snapshots/{made}', 'snapshot', 'error')
        self.knobs()
        rule = self.user.action(share, 'allow_access', {'access_type': 'ip', 'access_to': '10.0.0.8'})[1][
            'access'
        ]['id']
        self.user.wait(f'/share-access-rules/{rule}', 'access', 'active', field='state')
        asked = self.admin.ok('GET', f'/operations?resource_id={made}&all_projects=1')['operations']
        self.assertEqual(['snapshot.create'], [operation['kind'] for operation in asked])


class RetypedSnapshots(test_share_migration.MigrationTest):
    """Snapshots of a share that moves to a type whose snapshots cannot be mounted."""

    BACKENDS = dict.fromkeys(('alpha', 'beta'), 'migration_driver_continue_update_interval = 0.1\n')

    def test_access_rules_are_in_error_without_mount_support_and_can_be_removed(self):
        self.make_type('mounting', mount_snapshot_support='True')
        share = self.make(kind='mounting')
        path = f'/snapshots/{self.take(share)}'
        rule = self.admin.ok(
            'POST', f'{path}/action', {'allow_access': {'access_type': 'ip', 'access_to': '10.0.0.5'}}
        )['snapshot_access']['id']
        base.eventually(lambda: self.states(path) == ['active'], 'the rule is not active')
        self.assertEqual(202, self.start(share, new_share_type_id=self.make_type('silent'))[0])
        self.task_is(share, 'migration_driver_phase1_done')
        self.assertEqual(202, self.act(share, 'migration_complete')[0])
        base.eventually(lambda: self.states(path) == ['error'], 'the rule is not in error')
        self.assertEqual(
            [], self.admin.ok('GET', f'{path}/export-locations')['share_snapshot_export_locations']
        )
        self.admin.ok('POST', f'{path}/action', {'deny_access': {'access_id': rule}})
        base.eventually(lambda: not self.states(path), 'the rule stays')

    def test_access_rule_pending_during_a_migration_is_applied_at_the_new_backend(self):
        kind = self.getUniqueString()
        self.make_type(kind, mount_snapshot_support='True')
        share = self.make(kind=kind)
        snapshot = self.take(share)
        self.service.knob('alpha', 'serve_snapshot:hang')
        self.admin.ok(
            'POST',
            f'/snapshots/{snapshot}/action',
            {'allow_access': {'access_type': 'ip', 'access_to': '10.0.0.5'}},
        )
        self.assertEqual(202, self.start(share)[0])
        self.task_is(share, 'migration_driver_phase1_done')
        self.assertEqual(202, self.act(share, 'migration_complete')[0])
        base.eventually(lambda: self.states(f'/snapshots/{snapshot}') == ['active'], 'the rule is not active')
        self.assertEqual(
            [['ip', '10.0.0.5', 'ro']], list(self.store('beta').snapshot(snapshot).rules.values())
        )

    def states(self, path):
        return [rule['state'] for rule in self.admin.ok('GET', f'{path}/access-list')['snapshot_access_list']]
