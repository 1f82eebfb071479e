# SPDX-License-Identifier: Apache-2.0
"""Migration of a single share in two phases, with snapshots and access rules, to another backend, type or network."""

import concurrent.futures
import dataclasses

import sqlalchemy as sa
from oslo_utils import uuidutils

from manila_lite.db import models
from manila_lite.db.queries import share_migration as share_migration_queries
from manila_lite.doctor import examine
from manila_lite.manager.plans import share_migration
from manila_lite.tests import waiting
from manila_lite.tests.functional import base
from manila_lite.tests.functional.api.test_budgets import counting

BACKEND = 'migration_driver_continue_update_interval = 0.1\nbackend_availability_zone = {}\n'
WANTED = {'writable': False, 'nondisruptive': False, 'preserve_snapshots': True, 'preserve_metadata': True}
_NETWORKS = """
networks:
- id: net
  network_type: vlan
  segmentation_id: 100
  subnets:
  - {id: four, cidr: 10.1.0.0/20, gateway: 10.1.0.1}
  - {id: other, cidr: 10.2.0.0/20}
"""


class MigrationTest(base.ServiceTest):
    """Helpers to migrate shares."""

    EXTRA = (
        '[quota]\nshare_networks = -1\nshares = -1\ngigabytes = -1\nsnapshots = -1\nsnapshot_gigabytes = -1\n'
        '[api]\nwaiters = 7\nwaiters_per_project = 7\n'
    )

    def setUp(self):
        super().setUp()
        for name in self.BACKENDS:
            self.addCleanup(self.service.knob, name, '')

    @classmethod
    def make_type(cls, name, servers='False', **more):
        """Make a share type; return its id."""
        return cls.admin.ok(
            'POST',
            '/types',
            {
                'share_type': {
                    'name': name,
                    'extra_specs': {
                        'driver_handles_share_servers': servers,
                        'snapshot_support': 'True',
                        **more,
                    },
                }
            },
        )['share_type']['id']

    def make(self, backend='alpha', kind='plain', caller=None, **more):
        """Make a share of 2 GiB on a backend; return it."""
        share = (caller or self.admin).ok(
            'POST',
            '/shares',
            {
                'share': {
                    'size': 2,
                    'share_proto': 'NFS',
                    'share_type': kind,
                    **more,
                    'scheduler_hints': {'only_host': f'test@{backend}#pool1'},
                }
            },
        )['share']
        return self.admin.wait(f'/shares/{share["id"]}', 'share', 'available')

    def take(self, share):
        """Make a snapshot; return its id."""
        snapshot = self.admin.ok('POST', '/snapshots', {'snapshot': {'share_id': share['id']}})['snapshot']
        self.admin.wait(f'/snapshots/{snapshot["id"]}', 'snapshot', 'available')
        return snapshot['id']

    def grant(self, share, to='10.1.0.0/20'):
        self.admin.action(share['id'], 'allow_access', {'access_type': 'ip', 'access_to': to})
        self.admin.wait(f'/shares/{share["id"]}', 'share', 'active', field='access_rules_status')

    def act(self, share, action, body=None, caller=None, **more):
        status, document, _ = (caller or self.admin).action(share['id'], action, body, **more)
        return status, document

    def start(self, share, host='test@beta', **more):
        return self.act(share, 'migration_start', {**WANTED, 'host': host, **more})

    def shown(self, share):
        return self.admin.ok('GET', f'/shares/{share["id"]}')['share']

    def task_is(self, share, state):
        base.eventually(lambda: self.shown(share)['task_state'] == state, f'not {state}')

    def instances(self, share):
        """Return the statuses of the share's instances by host."""
        found = self.admin.ok('GET', f'/shares/{share["id"]}/instances')['share_instances']
        return {row['host']: row['status'] for row in found}

    def instance(self, share):
        [found] = self.admin.ok('GET', f'/shares/{share["id"]}/instances')['share_instances']
        return found['id']

    def store(self, backend):
        return self.service.managers[backend].driver.store

    def held(self, backend):
        """Return the ids of all shares and snapshots that a backend has."""
        store = self.store(backend)
        with store.locked():
            return {record.id for record in (*store.shares.all(), *store.snapshots.all())}

    def held_at_rest(self, backend):
        """Wait until deletions of earlier tests are over; return the ids as ``held`` does."""
        self.at_rest()
        return self.held(backend)

    def at_rest(self):
        """Wait until every operation has ended."""

        def ended():
            with self.service.services.db.reader() as conn:
                return not conn.execute(
                    sa.select(models.operations.c.id).where(models.operations.c.state == 'open')
                ).first()

        base.eventually(ended, 'operations are open')

    def move(self, share, host='test@beta', **more):
        """Migrate the share, through both phases."""
        self.assertEqual((202, None), self.start(share, host, **more))
        self.task_is(share, 'migration_driver_phase1_done')
        self.assertEqual((202, None), self.act(share, 'migration_complete'))
        self.task_is(share, 'migration_success')
        self.at_rest()

    def is_as_before(self, share, held):
        """Check that the share is where it was, and that ``beta`` has only the shares and snapshots of ``held``."""
        self.at_rest()
        self.assertEqual({share['host']: 'available'}, self.instances(share))
        self.assertEqual('available', self.shown(share)['status'])
        self.assertEqual(held, self.held('beta'))


class Migration(MigrationTest):
    """From ``alpha`` to ``beta``, in one zone; ``gamma`` is in another, and cannot copy while clients write."""

    BACKENDS = {
        'alpha': BACKEND.format('here') + 'dummy_pools = pool1,pool2\n',
        'beta': BACKEND.format('here'),
        'gamma': BACKEND.format('there') + 'dummy_writable_migration = false\n',
        'firm': BACKEND.format('there') + 'dummy_cancellable_migration = false\n',
    }

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.plain = cls.make_type('plain')
        cls.here = cls.make_type('here', availability_zones='here')
        cls.other = cls.make_type('other', revert_to_snapshot_support='True')

    def test_share_migrates_with_data_snapshots_and_rules_and_back(self):
        user = self.caller('p')
        share = self.make(metadata={'colour': 'red'})
        self.grant(share)
        snapshot = self.take(share)
        old = self.instance(share)
        self.assertEqual((202, None), self.start(share, writable=True))
        self.task_is(share, 'migration_driver_phase1_done')
        self.assertEqual(
            ('migrating', 'migrating'),
            (self.shown(share)['status'], user.ok('GET', f'/snapshots/{snapshot}')['snapshot']['status']),
        )
        self.assertEqual(
            {share['host']: 'migrating', 'test@beta#pool1': 'migrating_to'}, self.instances(share)
        )
        self.assertEqual(1, sum(row['id'] == share['id'] for row in user.ok('GET', '/shares')['shares']))
        self.service.managers['alpha'].driver.write(old, 'written late')
        told = self.admin.ok('GET', f'/shares/{share["id"]}/migration-progress')
        self.assertEqual(
            (100, 'migration_driver_phase1_done', 4 << 30),
            (told['total_progress'], told['task_state'], told['bytes_total']),
        )
        self.assertEqual((202, None), self.act(share, 'migration_complete'))
        self.task_is(share, 'migration_success')
        found = self.shown(share)
        self.assertEqual(
            ('available', 'test@beta#pool1', {'colour': 'red'}, 'active'),
            (found['status'], found['host'], found['metadata'], found['access_rules_status']),
        )
        self.at_rest()
        new = self.instance(share)
        self.assertNotEqual(old, new)
        record = self.store('beta').share(new)
        self.assertEqual(
            ('written late', [['ip', '10.1.0.0/20', 'rw']]), (record.content, list(record.rules.values()))
        )
        self.assertEqual(
            (set(), {new, snapshot}),
            ({old, snapshot} & self.held('alpha'), {new, snapshot} & self.held('beta')),
        )
        self.assertEqual('available', user.ok('GET', f'/snapshots/{snapshot}')['snapshot']['status'])
        paths = [
            place['path']
            for place in user.ok('GET', f'/shares/{share["id"]}/export_locations')['export_locations']
        ]
        self.assertTrue(paths and all(new in path for path in paths), paths)
        self.assertEqual(100, self.act(share, 'migration_get_progress')[1]['total_progress'])
        once, now = (
            self.act(share, 'migration_get_progress', version=version)[1] for version in ('2.58', '2.59')
        )
        self.assertEqual(
            {
                'total_progress',
                'task_state',
                'phase',
                'bytes_done',
                'bytes_total',
                'bytes_per_second',
                'seconds_left',
            },
            set(once),
        )
        self.assertEqual({*once, 'details'}, set(now))
        self.assertEqual((once['task_state'], once['phase']), (now['task_state'], now['details']['phase']))
        # a share that has moved can be moved back and deleted
        self.assertEqual((202, None), self.act(share, 'deny_access', {'access_id': next(iter(record.rules))}))
        self.admin.ok('DELETE', f'/snapshots/{snapshot}')
        self.at_rest()
        self.move(share, 'test@alpha')
        user.ok('DELETE', f'/shares/{share["id"]}')
        self.assertEqual(set(), {old, new} & (self.held('alpha') | self.held('beta')))

    def test_the_first_phase_ends_when_all_is_copied(self):
        share = self.make()
        snapshots = {self.take(share) for _ in range(2)}
        self.start(share)
        self.task_is(share, 'migration_driver_phase1_done')
        told = self.admin.ok('GET', f'/shares/{share["id"]}/migration-progress')
        self.assertEqual((6 << 30, 6 << 30), (told['bytes_done'], told['bytes_total']))
        [copy] = [
            row['id']
            for row in self.admin.ok('GET', f'/shares/{share["id"]}/instances')['share_instances']
            if row['status'] == 'migrating_to'
        ]
        self.assertEqual(set(), {copy, *snapshots} - self.held('beta'))
        self.act(share, 'migration_cancel')
        self.task_is(share, 'migration_cancelled')
        self.at_rest()

    def test_cancel_is_refused_by_a_backend_without_support(self):
        share = self.make()
        self.start(share, 'test@firm')
        self.task_is(share, 'migration_driver_phase1_done')
        status, document = self.act(share, 'migration_cancel')
        self.assertEqual((400, True), (status, 'test@firm cannot cancel' in str(document)))
        self.assertEqual((202, None), self.act(share, 'migration_complete'))
        self.task_is(share, 'migration_success')

    def test_cancelled_migration_leaves_everything_unchanged(self):
        share, held = self.make(), self.held_at_rest('beta')
        self.start(share)
        self.task_is(share, 'migration_driver_phase1_done')
        self.assertEqual(403, self.admin.call('DELETE', f'/shares/{share["id"]}')[0])
        self.assertEqual((202, None), self.act(share, 'migration_cancel'))
        self.task_is(share, 'migration_cancelled')
        self.is_as_before(share, held)
        for action in ('migration_cancel', 'migration_complete'):
            self.assertEqual(400, self.act(share, action)[0])

    def test_failed_copy_leaves_everything_unchanged(self):
        for method in ('share_migration_start', 'share_migration_continue'):
            share, held = self.make(), self.held_at_rest('beta')
            self.service.knob('beta', f'{method}:fail_final')
            self.start(share)
            self.task_is(share, 'migration_error')
            self.is_as_before(share, held)
            self.assertTrue(self.admin.ok('GET', f'/messages?resource_id={share["id"]}')['messages'])
            self.service.knob('beta', '')

    def test_copy_left_by_a_failed_cancel_can_be_deleted_by_force(self):
        share = self.make()
        self.start(share)
        self.task_is(share, 'migration_driver_phase1_done')
        self.service.knob('beta', 'share_migration_cancel:fail_final')
        self.act(share, 'migration_cancel')
        self.task_is(share, 'migration_cancelled')
        self.at_rest()
        self.assertEqual('available', self.shown(share)['status'])
        self.assertEqual({share['host']: 'available', 'test@beta#pool1': 'error'}, self.instances(share))
        [second] = [
            row['id']
            for row in self.admin.ok('GET', f'/shares/{share["id"]}/instances')['share_instances']
            if row['status'] == 'error'
        ]
        self.assertEqual(409, self.start(share)[0])
        self.service.knob('beta', '')
        [finding] = [found for found in examine.list_findings(self.service.services) if found.id == second]
        self.assertIn(share['id'], finding.why)
        self.admin.ok('POST', f'/share_instances/{second}/action', {'force_delete': None})
        self.at_rest()
        self.assertNotIn(second, self.held('beta'))
        self.assertEqual({share['host']: 'available'}, self.instances(share))

    def test_doctor_deletes_a_source_left_by_a_failed_deletion(self):
        share = self.make()
        old = self.instance(share)
        self.service.knob('alpha', 'delete_share:fail_final')
        self.start(share)
        self.task_is(share, 'migration_driver_phase1_done')
        self.act(share, 'migration_complete')
        self.task_is(share, 'migration_success')
        self.at_rest()
        self.assertEqual(
            {share['host']: 'error_deleting', 'test@beta#pool1': 'available'}, self.instances(share)
        )
        self.service.knob('alpha', '')
        [finding] = [found for found in examine.list_findings(self.service.services) if found.id == old]
        self.assertIn('begun', examine.mend(self.service.services, finding))
        self.at_rest()
        self.assertEqual({'test@beta#pool1': 'available'}, self.instances(share))
        self.assertNotIn(old, self.held('alpha'))

    def test_failed_cut_over_can_be_repeated(self):
        share = self.make()
        snapshot = self.take(share)
        self.service.knob('beta', 'share_migration_complete:fail_final')
        self.start(share)
        self.task_is(share, 'migration_driver_phase1_done')
        self.assertEqual((202, None), self.act(share, 'migration_complete'))
        self.task_is(share, 'migration_error')
        self.assertEqual({share['host']: 'error', 'test@beta#pool1': 'error'}, self.instances(share))
        self.assertEqual('error', self.admin.ok('GET', f'/snapshots/{snapshot}')['snapshot']['status'])
        self.service.knob('beta', '')
        self.assertEqual((202, None), self.act(share, 'migration_complete'))
        self.task_is(share, 'migration_success')
        self.at_rest()
        self.assertEqual({'test@beta#pool1': 'available'}, self.instances(share))
        self.assertEqual('available', self.admin.ok('GET', f'/snapshots/{snapshot}')['snapshot']['status'])

    def test_completion_without_export_locations_fails_and_can_be_repeated(self):
        share = self.make()
        driver = self.service.managers['beta'].driver
        complete = driver.share_migration_complete
        self.patch(
            driver,
            'share_migration_complete',
            lambda migration: dataclasses.replace(complete(migration), export_locations=()),
        )
        self.start(share)
        self.task_is(share, 'migration_driver_phase1_done')
        self.act(share, 'migration_complete')
        self.task_is(share, 'migration_error')
        driver.share_migration_complete = complete
        self.act(share, 'migration_complete')
        self.task_is(share, 'migration_success')
        self.assertTrue(self.admin.ok('GET', f'/shares/{share["id"]}/export_locations')['export_locations'])

    def test_share_can_be_deleted_after_a_failed_cut_over(self):
        share = self.make()
        self.service.knob('beta', 'share_migration_complete:fail_final')
        self.start(share)
        self.task_is(share, 'migration_driver_phase1_done')
        self.act(share, 'migration_complete')
        self.task_is(share, 'migration_error')
        idents = {
            row['id'] for row in self.admin.ok('GET', f'/shares/{share["id"]}/instances')['share_instances']
        }
        self.admin.ok('DELETE', f'/shares/{share["id"]}')
        self.at_rest()
        self.assertEqual(set(), idents & (self.held('alpha') | self.held('beta')))

    def test_access_rules_are_read_only_during_a_non_writable_migration(self):
        share = self.make()
        self.grant(share)
        old = self.instance(share)

        def levels(backend, share_id):
            return [rule[2] for rule in self.store(backend).share(share_id).rules.values()]

        self.refuses(share, 'writable', 'test@gamma', writable=True)
        self.assertEqual((202, None), self.start(share, 'test@gamma'))
        self.task_is(share, 'migration_driver_phase1_done')
        self.assertEqual(['ro'], levels('alpha', old))
        [found] = [
            row
            for row in self.admin.ok('GET', f'/shares/{share["id"]}/instances')['share_instances']
            if row['id'] == old
        ]
        self.assertTrue(found['cast_rules_to_readonly'])
        self.act(share, 'migration_cancel')
        self.task_is(share, 'migration_cancelled')
        self.at_rest()
        self.assertEqual(['rw'], levels('alpha', old))
        self.move(share, 'test@gamma')
        self.assertEqual(['rw'], levels('gamma', self.instance(share)))

    def test_rules_are_writable_again_if_the_process_died_making_them_read_only(self):
        share = self.make()
        self.grant(share)
        self.start(share, 'test@gamma')
        self.task_is(share, 'migration_driver_phase1_done')

        def released():  # the task state is seen before the worker saves the operation
            with self.service.services.db.reader() as conn:
                op = share_migration_queries.last(conn, share['id'])
            return op if op.owner is None else None

        op = waiting.until(released, 'a worker has the migration')
        with self.service.services.db.writer() as conn:  # it saved the rules, and not that it did
            data = {name: value for name, value in op.data.items() if name != 'frozen'}
            conn.execute(models.operations.update().where(models.operations.c.id == op.id).values(data=data))
        self.act(share, 'migration_cancel')
        self.task_is(share, 'migration_cancelled')
        self.at_rest()
        self.assertEqual(
            ['rw'], [rule[2] for rule in self.store('alpha').share(self.instance(share)).rules.values()]
        )

    def test_migration_fails_when_the_source_cannot_be_made_read_only(self):
        share = self.make()
        self.grant(share)
        self.service.knob('alpha', 'update_access:fail_final@once')
        self.start(share, 'test@gamma')
        self.task_is(share, 'migration_error')
        self.at_rest()
        self.assertEqual(
            ['rw'], [rule[2] for rule in self.store('alpha').share(self.instance(share)).rules.values()]
        )

    def test_share_migrates_to_another_type_within_its_quota(self):
        project = self.caller('typed', roles='admin,member,reader')
        share = self.make(caller=project)
        self.admin.ok('PUT', '/quota-sets/typed?share_type=other', {'quota_set': {'gigabytes': 1}})
        status, document = self.start(share, share['host'], new_share_type_id=self.other)
        self.assertEqual((413, True), (status, 'gigabytes' in str(document)))
        self.admin.ok('PUT', '/quota-sets/typed?share_type=other', {'quota_set': {'gigabytes': 2}})
        self.move(share, share['host'], new_share_type_id=self.other)  # on the same pool, with another type
        found = self.shown(share)
        self.assertEqual(
            (self.other, True, share['host']),
            (found['share_type'], found['revert_to_snapshot_support'], found['host']),
        )
        usage = self.admin.ok('GET', '/quota-sets/typed/detail?share_type=other')['quota_set']['gigabytes'][
            'in_use'
        ]
        before = self.admin.ok('GET', '/quota-sets/typed/detail?share_type=plain')['quota_set']['gigabytes'][
            'in_use'
        ]
        self.assertEqual((2, 0), (usage, before))
        self.assertEqual(
            2, self.admin.ok('GET', '/quota-sets/typed/detail')['quota_set']['gigabytes']['in_use']
        )

    def test_share_migrates_between_pools_but_not_with_snapshots(self):
        share = self.make()
        self.move(share, 'test@alpha')
        self.assertEqual('test@alpha#pool2', self.shown(share)['host'])
        self.take(share)
        self.refuses(self.shown(share), 'preserve_snapshots', 'test@alpha#pool1')

    def test_only_one_of_several_concurrent_requests_succeeds(self):
        share = self.make()
        with concurrent.futures.ThreadPoolExecutor(6) as executor:
            answers = sorted(executor.map(lambda _: self.start(share)[0], range(6)))
        self.assertEqual((1, True), (answers.count(202), set(answers) <= {202, 400, 409}), answers)
        self.task_is(share, 'migration_driver_phase1_done')
        with concurrent.futures.ThreadPoolExecutor(6) as executor:
            answers = sorted(executor.map(lambda _: self.act(share, 'migration_complete')[0], range(6)))
        self.assertEqual([202, *[400] * 5], answers)
        self.task_is(share, 'migration_success')
        self.at_rest()
        self.assertEqual({'test@beta#pool1': 'available'}, self.instances(share))

    def test_invalid_migrations_are_refused(self):
        share = self.make(kind='here')
        nowhere = uuidutils.generate_uuid()
        self.take(share)
        for status, word, more in (
            (404, 'nothing', {'host': 'nothing'}),
            (404, 'test@nobody', {'host': 'test@nobody'}),
            (400, nowhere, {'new_share_type_id': nowhere}),
            (400, 'new_share_network_id', {'new_share_network_id': nowhere}),
            (400, 'here', {'host': 'test@gamma'}),
            (400, 'writable', {'writable': 'perhaps'}),
            (409, 'snapshots', {'preserve_snapshots': False}),
            (400, 'cannot be combined with', {'force_host_assisted_migration': True}),
        ):
            found, document = self.start(share, **more)
            self.assertEqual((status, True), (found, word in str(document)), (more, document))
        self.assertEqual(404, self.start({'id': nowhere})[0])
        for action in ('migration_complete', 'migration_cancel', 'migration_get_progress'):
            self.assertEqual(400, self.act(share, action)[0])
        self.assertEqual(
            403, self.act(share, 'migration_start', {**WANTED, 'host': 'test@beta'}, self.caller('p'))[0]
        )
        self.admin.action(share['id'], 'reset_status', {'status': 'error'})
        found, document = self.start(share)
        self.assertEqual((400, True), (found, share['id'] in str(document)))
        self.assertIsNone(self.shown(share)['task_state'])

    def refuses(self, share, words, host='test@beta', **more):
        """Check that the destination refuses the share: the migration is accepted and over, and a message says why."""
        self.assertEqual((202, None), self.start(share, host, **more))
        shown = self.shown(share)
        self.assertEqual(
            ('migration_error', 'available', share['host']),
            (shown['task_state'], shown['status'], shown['host']),
        )
        [message] = self.admin.ok('GET', f'/messages?resource_id={share["id"]}')['messages']
        self.assertEqual(
            ('907', '910', 'SHARE'), (message['action_id'], message['detail_id'], message['resource_type'])
        )
        self.assertIn(words, message['user_message'])
        self.assertEqual('migration_error', self.act(share, 'migration_get_progress')[1]['task_state'])
        self.admin.ok('DELETE', f'/messages/{message["id"]}')

    def test_migration_fails_at_once_when_the_destination_cannot_take_the_share(self):
        share, held = self.make(), self.held_at_rest('beta')
        self.refuses(share, 'pool', 'test@beta#no-such-pool')
        self.refuses(share, 'nondisruptive', nondisruptive=True)
        self.refuses(share, 'colour', new_share_type_id=self.make_type('red', colour='red'))
        self.service.knob('beta', 'share_migration_check_compatibility:fail_final')
        self.refuses(share, 'share_migration_check_compatibility cannot be done')
        self.is_as_before(share, held)

    def test_destination_that_refuses_leaves_another_migration_alone(self):
        share = self.make()
        with self.service.services.db.writer() as conn:
            conn.execute(
                models.shares.update()
                .where(models.shares.c.id == share['id'])
                .values(task_state='migration_driver_in_progress')
            )
        status, document = self.start(share, nondisruptive=True)
        self.assertEqual((400, 'already_migrating'), (status, document['badRequest']['reason']))
        self.task_is(share, 'migration_driver_in_progress')
        self.assertEqual([], self.admin.ok('GET', f'/messages?resource_id={share["id"]}')['messages'])

    def test_statements_do_not_grow_with_rules_and_snapshots(self):
        costs = []
        for count in (1, 8):
            share = self.make()
            for number in range(count):
                self.grant(share, f'10.9.0.{number}')
                self.take(share)
            self.at_rest()
            with counting(self.service.services.db.engine) as started:
                self.assertEqual(202, self.start(share)[0])
            self.task_is(share, 'migration_driver_phase1_done')
            with counting(self.service.services.db.engine) as completed:
                self.assertEqual(202, self.act(share, 'migration_complete')[0])
                self.task_is(share, 'migration_success')
                self.at_rest()  # the release of the source and its rules follow at any time; count them always
            # The number of looks for the answer of the backend, and for work, depends on time.
            asked = [text for text in started.asked() if 'FROM operations' not in text]
            with self.service.services.db.reader() as conn:
                begun = share_migration_queries.last(conn, share['id']).request_id
            moved = [
                text for text in completed.worked(begun) if 'share_instances' in text or 'snapshots' in text
            ]
            self.assertTrue(moved, 'nothing is counted')
            costs.append((len(asked), len(moved)))
        (few_started, few_completed), (many_started, many_completed) = costs
        self.assertLessEqual(many_started, few_started * 1.2, costs)
        self.assertLessEqual(many_completed, few_completed * 1.2 + 2, costs)

    def test_doctor_finds_nothing_wrong_during_a_migration(self):
        share = self.make()
        snapshot = self.take(share)
        self.start(share)
        self.task_is(share, 'migration_driver_phase1_done')
        mine = {
            finding.id: finding
            for finding in examine.list_findings(self.service.services)
            if finding.state in ('migrating', 'migrating_to')
        }
        self.assertEqual(3, len(mine), mine)
        self.assertTrue({share['id'], snapshot} <= set(mine), mine)
        self.assertEqual({False}, {finding.wrong for finding in mine.values()})
        self.assertTrue(all(share_migration_queries.KIND in finding.why for finding in mine.values()), mine)
        self.act(share, 'migration_cancel')
        self.task_is(share, 'migration_cancelled')
        self.at_rest()

    def test_doctor_restores_the_source_of_a_migration_without_operation(self):
        share = self.make()
        self.grant(share)
        self.start(share, 'test@gamma')
        self.task_is(share, 'migration_driver_phase1_done')
        with self.service.services.db.writer() as conn:
            conn.execute(models.operations.delete().where(models.operations.c.resource_id == share['id']))
        second = next(
            row['id']
            for row in self.admin.ok('GET', f'/shares/{share["id"]}/instances')['share_instances']
            if row['status'] == 'migrating_to'
        )
        mine = [
            found
            for found in examine.list_findings(self.service.services)
            if found.id in (share['id'], second)
        ]
        self.assertEqual(
            [True, True, True], [found.wrong for found in mine]
        )  # both instances, and the task state
        for found in mine:
            self.assertTrue(examine.mend(self.service.services, found), found)
        self.at_rest()
        self.assertEqual({share['host']: 'available'}, self.instances(share))
        self.assertEqual(
            ['rw'], [rule[2] for rule in self.store('alpha').share(self.instance(share)).rules.values()]
        )
        self.assertNotIn(second, self.held('gamma'))

    def test_reset_of_the_task_state_ends_the_migration(self):
        share, held = self.make(), self.held_at_rest('beta')
        self.start(share)
        self.task_is(share, 'migration_driver_phase1_done')
        self.assertEqual(202, self.act(share, 'reset_task_state', {'task_state': 'migration_cancelled'})[0])
        self.is_as_before(share, held)

    def test_plan_uses_the_cut_over_of_the_module_steps(self):
        [plan] = [plan for plan in share_migration.PLANS if plan.kind == share_migration_queries.KIND]
        self.assertEqual(share_migration.STEPS.cut_over, plan.steps[plan.names.index('cut_over')].do)


class OnServers(MigrationTest):
    """Migration between share servers, in one share network or to another."""

    BACKENDS = {
        name: BACKEND.format('here') + 'driver_handles_share_servers = true\n' for name in ('alpha', 'beta')
    }

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.service.use_networks(_NETWORKS)
        cls.make_type('served', 'True')

    def make_network(self, subnet='four'):
        return self.admin.ok(
            'POST',
            '/share-networks',
            {'share_network': {'neutron_net_id': 'net', 'neutron_subnet_id': subnet}},
        )['share_network']['id']

    def test_share_migrates_to_another_network(self):
        share = self.make(kind='served', share_network_id=self.make_network())
        network = self.make_network('other')
        self.move(share, new_share_network_id=network)
        found = self.shown(share)
        self.assertEqual((network, 'test@beta#pool1'), (found['share_network_id'], found['host']))
        self.assertNotEqual(share['share_server_id'], found['share_server_id'])
        [place] = self.admin.ok('GET', f'/shares/{share["id"]}/export_locations')['export_locations']
        self.assertIn('10.2.', place['path'])
        self.admin.ok('DELETE', f'/share-servers/{share["share_server_id"]}')  # nothing is on it any more

    def test_existing_server_at_the_destination_is_used(self):
        network = self.make_network()
        there = self.make('beta', 'served', share_network_id=network)
        share = self.make(kind='served', share_network_id=network)
        self.assertEqual(202, self.start(share)[0])
        self.task_is(share, 'migration_driver_phase1_done')
        status, document, _ = self.admin.call(
            'POST',
            f'/share-servers/{there["share_server_id"]}/action',
            {'migration_start': {**WANTED, 'host': 'test@alpha'}},
        )
        self.assertEqual((409, True), (status, share['id'] in str(document)), document)
        self.act(share, 'migration_complete')
        self.task_is(share, 'migration_success')
        self.at_rest()
        self.assertEqual(there['share_server_id'], self.shown(share)['share_server_id'])

    def test_failed_server_creation_leaves_everything_unchanged(self):
        share = self.make(kind='served', share_network_id=self.make_network())
        held = self.held_at_rest('beta')
        self.service.knob('beta', 'setup_server:fail_final')
        self.start(share)
        self.task_is(share, 'migration_error')
        self.is_as_before(share, held)
