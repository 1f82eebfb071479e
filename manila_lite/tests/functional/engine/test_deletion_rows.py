# SPDX-License-Identifier: Apache-2.0
"""Operations after a request to delete: earlier open operations on the resource, and the operation of the deletion."""

from manila_lite import states
from manila_lite.db import models
from manila_lite.tests.functional.share_groups import test_refused as test_refused_groups
from manila_lite.tests.services import hearing

_FORCED = {'force_delete': None}
_SUPERSEDED = ('failed', 'superseded', None)


class Going(test_refused_groups.Grouping):
    """Base class with resources that have open operations."""

    def work(self, resource_id, **values):
        """Return the operations on the resource with these values, oldest first."""
        table = models.operations
        with self.service.services.db.reader() as conn:
            return list(
                conn.execute(
                    table.select()
                    .where(
                        table.c.resource_id == resource_id,
                        *(table.c[name] == value for name, value in values.items()),
                    )
                    .order_by(table.c.created_at)
                )
            )

    def rests(self, resource_id):
        """End the only open operation on the resource; return it."""
        [row] = self.work(resource_id, state='open')
        self.put(models.operations, row.id, state='done', unique_key=None)
        return row

    def goes(self, path, body=None, caller=None):
        """Delete the resource: with a body, by that action."""
        status, said, _ = (caller or self.admin).call('POST' if body else 'DELETE', path, body)
        self.assertEqual(202, status, said)

    def ended(self, old):
        """Check that the operation was superseded."""
        [row] = self.work(old.resource_id, id=old.id)
        self.assertEqual(_SUPERSEDED, (row.state, row.error, row.unique_key))

    def is_going(self, resource_id, kind, key, mutex_key):
        """Check that the deletion is the only open operation on the resource, with this key and this mutex key."""
        [row] = self.work(resource_id, state='open')
        self.assertEqual((kind, key, mutex_key), (row.kind, row.unique_key, row.mutex_key))

    def opened_again(self, old):
        """Return the statement that opens a finished operation again."""
        table = models.operations
        return table.update().where(table.c.id == old.id).values(state='open', unique_key=old.unique_key)

    @staticmethod
    def locking(table):
        """Return the pattern of the statement that locks a row of the table, whose status is about to change."""
        return (
            r'^SELECT share_instances\.id\s+FROM share_instances\s+WHERE share_instances\.share_id = '
            if table == 'share_instances'
            else rf'^UPDATE {table} SET .*status='
        )

    def forced(self, path, resource_id, table, kind):
        """Check that a forced deletion ends an operation that was opened again just before the status changed."""
        old = self.rests(resource_id)
        with self.meanwhile(self.locking(table), self.opened_again(old)):
            self.goes(f'{path}/{resource_id}/action', _FORCED)
        self.ended(old)
        self.is_going(resource_id, kind, old.unique_key, old.mutex_key)

    def instance(self, share, **values):
        """Return the instance of the share with these values."""
        table = models.share_instances
        with self.service.services.db.reader() as conn:
            return conn.execute(
                table.select().where(
                    table.c.share_id == share, *(table.c[name] == value for name, value in values.items())
                )
            ).one()

    def sizes(self, share):
        """Return the size and the target size of the share."""
        table = models.shares
        with self.service.services.db.reader() as conn:
            row = conn.execute(table.select().where(table.c.id == share)).one()
        return row.size, row.target_size


class Forced(Going):
    """A forced deletion ends every other operation on the resource."""

    def test_share_operation_begun_just_before_the_lock_is_superseded(self):
        self.forced('/shares', self.share(), 'share_instances', 'share.delete')

    def test_snapshot_operation_begun_just_before_the_lock_is_superseded(self):
        self.forced('/snapshots', self.snapshot(self.share()), 'snapshots', 'snapshot.delete')

    def test_group_operation_begun_just_before_the_lock_is_superseded(self):
        self.forced('/share-groups', self.group(), 'share_groups', 'share_group.delete')

    def test_group_snapshot_operation_begun_just_before_the_lock_is_superseded(self):
        self.forced(
            '/share-group-snapshots',
            self.taken(self.group()),
            'share_group_snapshots',
            'share_group_snapshot.delete',
        )

    def test_pending_extension_is_superseded_and_its_target_size_cleared(self):
        share = self.share(size=2)
        self.rests(share)
        self.assertEqual(202, self.user.action(share, 'extend', {'new_size': 5})[0])
        self.assertEqual((2, 5), self.sizes(share))
        [growing] = self.work(share, kind='share.extend')
        self.goes(f'/shares/{share}/action', _FORCED)
        self.ended(growing)
        self.assertEqual((2, None), self.sizes(share))

    def test_snapshot_is_deleted_while_a_share_is_created_from_it(self):
        snapshot = self.snapshot(self.share())
        self.share(snapshot_id=snapshot, status='creating_from_snapshot')
        self.goes(f'/snapshots/{snapshot}/action', _FORCED)
        self.assertEqual('deleting', self.user.ok('GET', f'/snapshots/{snapshot}')['snapshot']['status'])

    def test_group_snapshot_is_deleted_while_a_group_is_created_from_it(self):
        group = self.group()
        self.share(share_group_id=group)
        snapshot = self.taken(group)
        self.group(source_share_group_snapshot_id=snapshot)
        self.goes(f'/share-group-snapshots/{snapshot}/action', _FORCED)
        path = f'/share-group-snapshots/{snapshot}'
        self.assertEqual('deleting', self.user.ok('GET', path)['share_group_snapshot']['status'])


class Deleted(Going):
    """The operations that a deletion begins, and those that it ends."""

    def replica(self):
        """Return the ids of a share and of a replica of the share."""
        name = self.getUniqueString()
        self.type(name, replication_type='dr')
        share = self.share(share_type=name)
        return share, self.aside(share, replica_state='out_of_sync')

    def test_group_deletion_is_its_only_operation_and_is_notified(self):
        heard, group = self.useFixture(hearing.Heard(self.service.conf)), self.group()
        self.rests(group)
        self.goes(f'/share-groups/{group}')
        self.is_going(group, 'share_group.delete', f'share_group:{group}', group)
        heard.wait('share_group.delete.start', share_group_id=group)

    def test_group_snapshot_deletion_is_its_only_operation_and_is_notified(self):
        heard, group = self.useFixture(hearing.Heard(self.service.conf)), self.group()
        snapshot = self.taken(group)
        self.rests(snapshot)
        self.goes(f'/share-group-snapshots/{snapshot}')
        self.is_going(snapshot, 'share_group_snapshot.delete', f'share_group_snapshot:{snapshot}', group)
        heard.wait('share_group_snapshot.delete.start', share_group_snapshot_id=snapshot)

    def test_replica_deletion_supersedes_its_resync(self):
        _, replica = self.replica()
        self.goes(f'/share-replicas/{replica}/action', {'resync': None})
        [update] = self.work(replica, state='open')
        self.goes(f'/share-replicas/{replica}')
        self.ended(update)
        self.is_going(replica, 'replica.delete', f'replica:{replica}', replica)

    def test_replica_promoted_just_before_the_share_lock_is_not_deleted(self):
        share, replica = self.replica()
        table = models.share_instances
        change = table.update().where(table.c.share_id == share).values(is_secondary=~table.c.is_secondary)
        with self.meanwhile(
            r'^SELECT share_instances\.id\s+FROM share_instances\s+WHERE share_instances\.share_id = ', change
        ):
            self.no(
                400,
                'active_replica',
                f'Replica {replica} is the active one; promote another one first.',
                f'/share-replicas/{replica}',
            )
        self.assertEqual([], self.work(replica))

    def test_concurrent_second_deletion_of_a_group_snapshot_is_refused(self):
        group, table = self.group(), models.share_group_snapshots
        self.share(share_group_id=group)
        snapshot = self.taken(group)
        self.rests(snapshot)
        goes = table.update().where(table.c.id == snapshot).values(status='deleting')
        for held in ('share_groups', 'share_instances'):
            with self.meanwhile(f'^UPDATE {held} SET ', goes):
                self.no(
                    409,
                    'wrong_state',
                    'The share group snapshot is deleting; to delete it, it must be available',
                    f'/share-group-snapshots/{snapshot}',
                )

    def test_instance_left_by_a_migration_is_released_with_its_share(self):
        share = self.share()
        self.rests(share)
        left = self.aside(share)
        self.goes(f'/shares/{share}')
        [release] = self.work(share, kind='share.release')
        self.assertEqual(('open', left, left), (release.state, release.mutex_key, release.data['instance']))
        self.assertEqual('deleting', self.instance(share, id=left).status)

    def test_leftover_instance_already_being_deleted_is_not_released_again(self):
        share = self.share()
        self.rests(share)
        self.aside(share, status=states.SHARE['delete'].during)
        self.goes(f'/shares/{share}')
        self.assertEqual([], self.work(share, kind='share.release'))


class Resized(Going):
    """The target size in the row of a share."""

    def setUp(self):
        super().setUp()
        name = self.getUniqueString()
        self.type(name, revert_to_snapshot_support='True')
        self.share_id = self.share(share_type=name, size=3)
        self.rests(self.share_id)

    def act(self, **action):
        status, said, _ = self.user.call('POST', f'/shares/{self.share_id}/action', action)
        self.assertEqual(202, status, said)

    def test_shrinking_sets_the_target_size(self):
        self.act(shrink={'new_size': 1})
        self.assertEqual((3, 1), self.sizes(self.share_id))

    def test_revert_to_a_smaller_snapshot_sets_the_target_size(self):
        snapshot = self.snapshot(self.share_id)
        self.put(models.snapshots, snapshot, size=2)
        self.act(revert={'snapshot_id': snapshot})
        self.assertEqual((3, 2), self.sizes(self.share_id))

    def test_revert_at_unchanged_size_ignores_a_lowered_size_limit(self):
        snapshot = self.snapshot(self.share_id)
        self.admin.ok('PUT', '/quota-sets/p', {'quota_set': {'per_share_gigabytes': 2, 'force': True}})
        self.addCleanup(self.admin.ok, 'DELETE', '/quota-sets/p')
        self.act(revert={'snapshot_id': snapshot})
        self.assertEqual((3, 3), self.sizes(self.share_id))

    def test_size_changes_run_in_turn_with_other_operations_of_the_share(self):
        snapshot, instance = self.snapshot(self.share_id), self.instance(self.share_id).id
        self.put(models.snapshots, snapshot, size=2)
        for kind, caller, action in (
            ('share.extend', self.user, {'extend': {'new_size': 5}}),
            ('share.extend', self.admin, {'extend': {'new_size': 5, 'force': True}}),
            ('share.shrink', self.user, {'shrink': {'new_size': 1}}),
            ('share.revert', self.user, {'revert': {'snapshot_id': snapshot}}),
        ):
            self.goes(f'/shares/{self.share_id}/action', action, caller)
            self.is_going(self.share_id, kind, f'share:{self.share_id}', instance)
            self.rests(self.share_id)
            self.share_is(self.share_id, status='available')

    def test_share_in_the_recycle_bin_is_refused_before_all_other_checks(self):
        other = self.snapshot(self.share())
        self.put(models.shares, self.share_id, is_soft_deleted=True)
        words = f'Share {self.share_id} is in the recycle bin (soft deleted); restore it first.'
        for action in ({'shrink': {'new_size': 3}}, {'revert': {'snapshot_id': other}}):
            self.no(403, 'share_soft_deleted', words, f'/shares/{self.share_id}/action', action)
        self.share_is(self.share_id, status='error')
        for action in ({'shrink': {'new_size': 1}}, {'revert': {'snapshot_id': self.snapshot_of_it()}}):
            self.no(403, 'share_soft_deleted', words, f'/shares/{self.share_id}/action', action)

    def snapshot_of_it(self):
        """Return the id of a new snapshot of the share, also if the share is in the recycle bin."""
        return self.insert(
            models.snapshots,
            share_id=self.share_id,
            project_id='p',
            user_id='u',
            size=3,
            share_size=3,
            share_proto='NFS',
            status='available',
        )
