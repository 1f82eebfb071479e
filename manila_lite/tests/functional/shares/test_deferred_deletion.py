# SPDX-License-Identifier: Apache-2.0
"""Expiry of the recycle bin, and deferred deletion."""

import datetime

from oslo_utils import timeutils

from manila_lite import errors
from manila_lite.actions import shares
from manila_lite.db import models
from manila_lite.scheduler import expiry
from manila_lite.tests.functional import refused
from manila_lite.tests.functional.base import ServiceTest, eventually
from manila_lite.tests.functional.share_replicas.test_share_replicas import Replicating


class Bin(ServiceTest):
    """A recycle bin that is emptied at once."""

    EXTRA = 'soft_deleted_share_retention_time = 0\ncheck_for_expired_shares_in_recycle_bin_interval = 0.1\n'

    def test_expired_share_is_deleted(self):
        caller = self.caller('bin')
        share = caller.share()
        other = caller.share()
        self.assertEqual(202, caller.action(share['id'], 'soft_delete')[0])
        caller.wait(f'/shares/{share["id"]}', 'share', 'gone')
        self.assertEqual('available', caller.ok('GET', f'/shares/{other["id"]}')['share']['status'])
        done = caller.ok('GET', f'/operations?resource_id={share["id"]}&kind=share.delete')['operations']
        self.assertEqual(['done'], [operation['state'] for operation in done])

    def setUp(self):
        super().setUp()
        self.addCleanup(self.service.knob, 'alpha', '')

    def test_deletion_of_an_expired_share_is_retried_after_a_backend_failure(self):
        caller = self.caller('bin')
        share = caller.share()
        self.service.knob('alpha', 'delete_share:fail_final')
        self.assertEqual(202, caller.action(share['id'], 'soft_delete')[0])
        caller.wait(f'/shares/{share["id"]}', 'share', 'error_deleting')
        self.assertEqual(403, caller.action(share['id'], 'restore')[0])
        self.service.knob('alpha', '')
        caller.wait(f'/shares/{share["id"]}', 'share', 'gone')


class Looks(ServiceTest):
    """A recycle bin that is emptied when the test says so, or when the scheduler has started: it finds nothing expired then."""

    EXTRA = 'soft_deleted_share_retention_time = 86400\n'

    def test_undeletable_share_does_not_block_other_expired_shares(self):
        caller = self.caller('bin')
        stuck, free = (caller.share()['id'] for _ in range(2))
        for resource_id in (stuck, free):
            self.assertEqual(202, caller.action(resource_id, 'soft_delete')[0])
        with self.service.services.db.writer() as conn:  # a snapshot that came in at the same moment
            conn.execute(
                models.snapshots.insert().values(
                    id=stuck,
                    share_id=stuck,
                    project_id='bin',
                    status='available',
                    size=1,
                    share_size=1,
                    share_proto='NFS',
                )
            )
            conn.execute(
                models.shares.update()
                .where(models.shares.c.id.in_((stuck, free)))
                .values(scheduled_to_be_deleted_at=timeutils.utcnow() - datetime.timedelta(seconds=1))
            )
        expiry.empty_bin(self.service.services)
        expiry.empty_bin(self.service.services)
        caller.wait(f'/shares/{free}', 'share', 'gone')
        self.assertEqual(
            ('available', True),
            tuple(
                caller.ok('GET', f'/shares/{stuck}')['share'][key] for key in ('status', 'is_soft_deleted')
            ),
        )
        self.assertEqual(202, caller.action(stuck, 'restore')[0])
        # As for a share that is restored after the query and before its deletion.
        self.assertRaises(errors.WrongState, shares.delete, self.service.context('bin'), stuck, from_bin=True)
        expiry.empty_bin(self.service.services)
        self.assertEqual('available', caller.ok('GET', f'/shares/{stuck}')['share']['status'])


class Retention(refused.Refusing):
    """A recycle bin that keeps shares for a day."""

    EXTRA = 'soft_deleted_share_retention_time = 86400\n'

    def test_share_is_deleted_only_after_the_retention_time(self):
        share_id, day = self.share(), datetime.timedelta(days=1)
        self.all_done()
        before = self.now() - datetime.timedelta(seconds=1)  # SQLite counts milliseconds
        self.assertEqual(202, self.user.action(share_id, 'soft_delete')[0])
        until = self.shown(share_id)['scheduled_to_be_deleted_at']
        self.assertTrue(before + day <= datetime.datetime.fromisoformat(until) <= self.now() + day, until)
        expiry.empty_bin(self.service.services)
        self.assertEqual(
            ('available', True, until),
            tuple(
                self.shown(share_id)[key]
                for key in ('status', 'is_soft_deleted', 'scheduled_to_be_deleted_at')
            ),
        )
        self.put(
            models.shares, share_id, scheduled_to_be_deleted_at=self.now() - datetime.timedelta(seconds=1)
        )
        expiry.empty_bin(self.service.services)
        self.assertEqual('deleting', self.shown(share_id)['status'])

    def shown(self, share_id):
        """Return the share as its owner sees it."""
        return self.user.ok('GET', f'/shares/{share_id}')['share']


class Deferred(ServiceTest):
    """A service that defers deletion."""

    EXTRA = 'is_deferred_deletion_enabled = true\nperiodic_deferred_delete_interval = 0.1\n'

    def setUp(self):
        super().setUp()
        self.addCleanup(self.service.knob, 'alpha', '')

    def used(self, caller):
        found = caller.ok('GET', '/limits')['limits']['absolute']
        return {
            name: found[f'total{name}Used']
            for name in ('Shares', 'ShareGigabytes', 'ShareSnapshots', 'SnapshotGigabytes')
        }

    def test_deleted_share_is_hidden_from_its_owner_before_the_backend_deletes_it(self):
        caller = self.caller('unseen')
        share = caller.share()
        snapshot = caller.ok('POST', '/snapshots', {'snapshot': {'share_id': share['id']}})['snapshot']
        caller.wait(f'/snapshots/{snapshot["id"]}', 'snapshot', 'available')
        self.service.knob('alpha', 'delete_snapshot:fail_final\ndelete_share:fail_final')
        self.assertEqual(403, caller.call('DELETE', f'/shares/{share["id"]}')[0])
        for path, key in ((f'/snapshots/{snapshot["id"]}', 'snapshot'), (f'/shares/{share["id"]}', 'share')):
            self.assertEqual(202, caller.call('DELETE', path)[0])
            self.assertEqual(404, caller.call('GET', path)[0])
            self.assertEqual([], caller.ok('GET', f'/{key}s/detail')[f'{key}s'])
            self.assertIn(
                self.admin.ok('GET', path)[key]['status'], ('deferred_deleting', 'error_deferred_deleting')
            )
        self.assertEqual({0}, set(self.used(caller).values()))
        self.admin.wait(f'/shares/{share["id"]}', 'share', 'error_deferred_deleting')
        self.assertEqual(
            [share['id']],
            [row['id'] for row in self.admin.ok('GET', '/shares?all_tenants=1&project_id=unseen')['shares']],
        )
        self.assertEqual([], caller.ok('GET', '/messages')['messages'])
        self.service.knob('alpha', '')
        self.admin.wait(f'/shares/{share["id"]}', 'share', 'gone')
        self.admin.wait(f'/snapshots/{snapshot["id"]}', 'snapshot', 'gone')

    def test_share_stays_at_the_backend_until_its_snapshot_is_deleted(self):
        caller, store = self.caller('behind'), self.service.managers['alpha'].driver.store
        share = caller.share()
        [instance] = self.admin.ok('GET', f'/shares/{share["id"]}/instances')['share_instances']
        snapshot = caller.ok('POST', '/snapshots', {'snapshot': {'share_id': share['id']}})['snapshot']
        caller.wait(f'/snapshots/{snapshot["id"]}', 'snapshot', 'available')
        self.service.knob('alpha', 'delete_snapshot:fail_final')
        for path in (f'/snapshots/{snapshot["id"]}', f'/shares/{share["id"]}'):
            self.assertEqual(202, caller.call('DELETE', path)[0])
        self.admin.wait(f'/shares/{share["id"]}', 'share', 'error_deferred_deleting')
        self.assertNotIn(('delete_share', instance['id']), store.calls('delete_share'))
        self.service.knob('alpha', '')
        self.admin.wait(f'/shares/{share["id"]}', 'share', 'gone')
        self.assertEqual(
            (None, None), (store.snapshots.get(snapshot['id']), store.shares.get(instance['id']))
        )

    def test_administrator_can_force_a_failed_deferred_deletion(self):
        caller = self.caller('forced')
        share = caller.share()
        self.service.knob('alpha', 'delete_share:fail_final')
        caller.call('DELETE', f'/shares/{share["id"]}')
        self.admin.wait(f'/shares/{share["id"]}', 'share', 'error_deferred_deleting')
        self.assertEqual(202, self.admin.action(share['id'], 'force_delete')[0])
        self.admin.wait(f'/shares/{share["id"]}', 'share', 'error_deleting')
        self.service.knob('alpha', '')
        self.assertEqual(202, self.admin.action(share['id'], 'force_delete')[0])
        self.admin.wait(f'/shares/{share["id"]}', 'share', 'gone')

    def test_administrator_can_restore_a_share_after_a_failed_deletion(self):
        caller = self.caller('back')
        share = caller.share(size=3)
        self.service.knob('alpha', 'delete_share:fail_final')
        caller.call('DELETE', f'/shares/{share["id"]}')
        self.admin.wait(f'/shares/{share["id"]}', 'share', 'error_deferred_deleting')
        self.assertEqual(202, self.admin.action(share['id'], 'reset_status', {'status': 'available'})[0])
        self.assertEqual('available', caller.ok('GET', f'/shares/{share["id"]}')['share']['status'])
        self.assertEqual(3, self.used(caller)['ShareGigabytes'])


class DeferredOfReplicas(Replicating):
    """A service that defers deletion, and shares that have replicas."""

    EXTRA = f'is_deferred_deletion_enabled = true\n{Replicating.EXTRA}'

    def test_deleted_snapshot_is_removed_from_replicas_too(self):
        share = self.make()
        store = self.driver(self.replicate(share)).store
        snapshot = self.take(share)
        eventually(lambda: store.snapshots.get(snapshot), 'the replica has not got the snapshot')
        self.admin.ok('DELETE', f'/snapshots/{snapshot}')
        eventually(lambda: store.snapshots.get(snapshot) is None, 'the replica keeps the snapshot')
        self.drop(share)
