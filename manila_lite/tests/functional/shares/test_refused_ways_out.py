# SPDX-License-Identifier: Apache-2.0
"""Shares that are not deleted, put in the recycle bin, unmanaged or transferred; requests to a share in the bin."""

from manila_lite.db import models
from manila_lite.tests.functional import refused

#: Bodies of the actions by which a share goes away.
_ACTIONS = ({'force_delete': None}, {'soft_delete': None}, {'unmanage': None})
_MOVING = 'is being moved to another backend; cancel that first.'


class Going(refused.Refusing):
    """Shares that cannot be deleted, unmanaged or transferred as they are."""

    def goes_not(self, share, status, code, words, ways=_ACTIONS):
        """Check that each of the actions is refused, and that the share is still available."""
        for way in ways:
            self.no(status, code, words, f'/shares/{share}/action', way, self.admin)
        self.assertEqual('available', self.admin.ok('GET', f'/shares/{share}')['share']['status'])

    def given_not(self, share, status, code, words):
        """Check that no transfer of the share is made."""
        self.no(status, code, words, '/share-transfers', {'transfer': {'share_id': share}})

    def grouped(self):
        """Make a group and a share in it; return both."""
        types = self.admin.ok(
            'POST',
            '/share-group-types',
            {'share_group_type': {'name': self.getUniqueString(), 'share_types': ['default']}},
        )['share_group_type']
        group = self.user.ok('POST', '/share-groups', {'share_group': {'share_group_type_id': types['id']}})[
            'share_group'
        ]['id']
        self.put(models.share_groups, group, status='available', host=refused.HOST)
        return group, self.share(share_group_id=group)

    def replicated(self):
        """Make a share with a replica; return the share."""
        name = self.getUniqueString()
        self.type(name, replication_type='dr')
        share = self.share(share_type=name)
        self.aside(share, replica_state='in_sync')
        return share

    def test_share_in_migration_cannot_be_deleted_or_unmanaged(self):
        share = self.share()
        self.moving(share)
        self.goes_not(share, 403, 'wrong_state', f'Share {share} {_MOVING}')
        self.no(403, 'wrong_state', f'Share {share} {_MOVING}', f'/shares/{share}')

    def test_share_with_replicas_cannot_be_deleted_unmanaged_or_transferred(self):
        share = self.replicated()
        words = f'Share {share} has 1 replica in addition to the active one; delete it first.'
        self.goes_not(share, 409, 'share_has_replicas', words)
        self.no(409, 'share_has_replicas', words, f'/shares/{share}')
        self.given_not(share, 409, 'share_has_replicas', words)
        self.no(409, 'share_has_replicas', words, '/share-backups', {'share_backup': {'share_id': share}})
        self.no(
            409,
            'share_has_replicas',
            words,
            '/snapshots/manage',
            {'snapshot': {'share_id': share, 'provider_location': 'x'}},
            self.admin,
        )
        snapshot = self.snapshot(share)
        self.no(
            409, 'share_has_replicas', words, f'/snapshots/{snapshot}/action', {'unmanage': None}, self.admin
        )

    def test_share_with_backups_cannot_be_deleted_unmanaged_or_transferred(self):
        share = self.share()
        self.backup(share)
        words = f'Share {share} has 1 backup; delete it first.'
        self.goes_not(share, 403, 'share_has_backups', words)
        self.no(403, 'share_has_backups', words, f'/shares/{share}')
        self.given_not(share, 403, 'share_has_backups', words)

    def test_share_with_snapshots_cannot_be_deleted_or_unmanaged(self):
        share = self.share()
        self.snapshot(share)
        words = f'Share {share} has 1 snapshot; '
        self.goes_not(share, 403, 'share_has_snapshots', f'{words}delete it first.', _ACTIONS[:2])
        self.no(403, 'share_has_snapshots', f'{words}delete it first.', f'/shares/{share}')
        self.goes_not(share, 403, 'share_has_snapshots', f'{words}unmanage or delete it first.', _ACTIONS[2:])

    def test_share_in_a_group_snapshot_cannot_be_deleted_or_unmanaged(self):
        group, share = self.grouped()
        snapshot = self.user.ok(
            'POST', '/share-group-snapshots', {'share_group_snapshot': {'share_group_id': group}}
        )['share_group_snapshot']['id']
        self.put(models.share_group_snapshots, snapshot, status='available')
        words = f'Share {share} is in 1 share group snapshot; delete it first.'
        self.goes_not(share, 403, 'share_in_group_snapshot', words, (_ACTIONS[0], _ACTIONS[2]))
        self.no(403, 'share_in_group_snapshot', words, f'/shares/{share}?share_group_id={group}')

    def test_share_in_a_group_cannot_be_transferred_or_deleted_without_group_id(self):
        group, share = self.grouped()
        other = self.share()
        self.no(
            400, 'invalid_input', f'share {share} is in share group {group}; give its id', f'/shares/{share}'
        )
        self.no(
            400,
            'invalid_input',
            f'share {other} is not in share group {group}.',
            f'/shares/{other}?share_group_id={group}',
        )
        self.goes_not(
            share, 403, 'share_in_group', f'Share {share} is a member of share group {group}.', _ACTIONS[1:2]
        )
        self.given_not(share, 400, 'share_not_transferable', f'it is a member of share group {group}.')
        self.no(
            409,
            'share_group_has_shares',
            f'Share group {group} has 1 share; delete it first.',
            f'/share-groups/{group}',
        )

    def test_share_with_a_leftover_instance_of_a_migration_cannot_be_unmanaged(self):
        share = self.share()
        self.aside(share)
        self.goes_not(
            share,
            409,
            'share_has_instances',
            f'Share {share} has a second instance that a migration left',
            _ACTIONS[2:],
        )

    def test_locked_share_cannot_be_deleted_or_unmanaged(self):
        share = self.share()
        lock = self.lock(self.user, share)
        for way, verb in zip(_ACTIONS, ('be deleted', 'be soft deleted', 'be unmanaged'), strict=True):
            self.goes_not(
                share,
                403,
                'share_locked',
                f'Share {share} cannot {verb} while it is locked: {lock} (by user)',
                (way,),
            )
        self.no(
            403,
            'share_locked',
            f'Share {share} cannot be deleted while it is locked: {lock} (by user)',
            f'/shares/{share}',
        )

    def test_share_with_a_rule_locked_by_another_cannot_be_deleted_or_transferred(self):
        share = self.share()
        rule = self.rule(share)
        lock = self.lock(self.admin, rule, 'access_rule')
        self.no(
            403,
            'share_locked',
            f'Share {share} cannot be deleted while its access rule {rule} is locked by {lock}',
            f'/shares/{share}',
        )
        self.given_not(
            share,
            403,
            'share_locked',
            f'Share {share} cannot be transferred: it or one of its access rules is locked',
        )

    def lock(self, caller, resource_id, kind='share'):
        """Make a resource lock of the caller; return its id."""
        return caller.ok(
            'POST', '/resource-locks', {'resource_lock': {'resource_id': resource_id, 'resource_type': kind}}
        )['resource_lock']['id']

    def test_snapshot_cannot_be_deleted_while_a_share_is_created_from_it(self):
        share = self.share()
        snapshot = self.snapshot(share)
        growing = self.share(snapshot_id=snapshot, status='creating_from_snapshot')
        words = f'Share {growing} is being created from snapshot {snapshot}; wait until it is available.'
        self.no(403, 'wrong_state', words, f'/snapshots/{snapshot}')
        self.no(403, 'wrong_state', words, f'/snapshots/{snapshot}/action', {'unmanage': None}, self.admin)

    def test_snapshot_cannot_be_deleted_during_a_replica_promotion(self):
        share = self.replicated()
        snapshot = self.snapshot(share)
        self.share_is(share, status='replication_change')
        self.no(
            403,
            'wrong_state',
            f'Share {share} is replication_change; wait until that is over.',
            f'/snapshots/{snapshot}',
        )


class InTheBin(refused.Refusing):
    """Shares in the recycle bin, which can be shown, restored and deleted, and nothing else."""

    def setUp(self):
        super().setUp()
        self.name = self.getUniqueString()
        self.type(self.name, replication_type='dr', revert_to_snapshot_support='True')
        self.share_id = self.share(share_type=self.name, size=2)
        self.path = f'/shares/{self.share_id}/action'
        self.rule_id, self.snapshot_id = self.rule(self.share_id), self.snapshot(self.share_id)
        self.backup_id = self.backup(self.share_id)
        self.put(models.shares, self.share_id, is_soft_deleted=True)

    def never(self, path, body, method=None):
        """Check that the request is refused because the share is in the recycle bin."""
        self.no(
            403,
            'share_soft_deleted',
            f'Share {self.share_id} is in the recycle bin (soft deleted); restore it first.',
            path,
            body,
            self.admin,
            method,
        )

    def test_changes_of_the_share_are_refused(self):
        self.never(f'/shares/{self.share_id}', {'share': {'name': 'x'}}, 'PUT')
        for action in (
            {'extend': {'new_size': 3}},
            {'shrink': {'new_size': 1}},
            {'revert': {'snapshot_id': self.snapshot_id}},
            {'reset_status': {'status': 'error'}},
            {'soft_delete': None},
            {'unmanage': None},
        ):
            self.never(self.path, action)

    def test_access_rules_cannot_be_added_or_removed(self):
        self.never(self.path, {'allow_access': {'access_type': 'ip', 'access_to': '10.0.0.9'}})
        self.never(self.path, {'deny_access': {'access_id': self.rule_id}})

    def test_snapshots_replicas_and_backups_are_refused(self):
        self.never('/snapshots', {'snapshot': {'share_id': self.share_id}})
        self.never('/snapshots/manage', {'snapshot': {'share_id': self.share_id, 'provider_location': 'x'}})
        self.never('/share-replicas', {'share_replica': {'share_id': self.share_id}})
        self.never('/share-backups', {'share_backup': {'share_id': self.share_id}})
        self.never(f'/share-backups/{self.backup_id}/action', {'restore': None})

    def test_transfer_is_refused(self):
        self.never('/share-transfers', {'transfer': {'share_id': self.share_id}})

    def test_replica_promotion_is_refused(self):
        replica = self.aside(self.share_id, replica_state='in_sync')
        self.never(f'/share-replicas/{replica}/action', {'promote': None})

    def test_lock_is_refused(self):
        self.no(
            409,
            'too_late_to_lock',
            f'Share {self.share_id} is in the recycle bin: it is too late to lock it',
            '/resource-locks',
            {'resource_lock': {'resource_id': self.share_id, 'resource_type': 'share'}},
        )

    def test_restore_is_refused_once_deletion_began(self):
        self.share_is(self.share_id, status='deleting')
        self.no(
            403,
            'share_expired',
            f'Share {self.share_id} is being deleted; it is too late to restore it.',
            self.path,
            {'restore': None},
        )
