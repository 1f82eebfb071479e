# SPDX-License-Identifier: Apache-2.0
"""Requests that the status of a resource forbids: refused in each such status, which the message names.

The allowed statuses are repeated here, so that a changed row of ``states.py`` is noticed.
"""

from manila_lite import states
from manila_lite.db import models
from manila_lite.tests.functional import refused

BROKEN = (
    'error inactive error_deleting extending_error shrinking_error reverting_error backup_restoring_error'
)
_UNMANAGED = 'manage_error unmanage_error'
ACTION = '/shares/{share}/action'
MUST_BE = 'The share is {status}; to '
_NOT_AVAILABLE = 'share {share} is {status}'

#: Path, body, statuses to start from, answer, words.
SHARES = {
    'delete': (
        '/shares/{share}',
        None,
        f'available {BROKEN}',
        403,
        'wrong_state',
        f'{MUST_BE}delete it, it must be',
    ),
    'force_delete': (
        ACTION,
        {'force_delete': None},
        ' '.join(states.SHARE.statuses - {'replication_change'}),
        403,
        'wrong_state',
        f'{MUST_BE}force delete it, it must be',
    ),
    'extend': (
        ACTION,
        {'extend': {'new_size': 3}},
        'available',
        400,
        'wrong_state',
        f'{MUST_BE}extend it, it must be available',
    ),
    'shrink': (
        ACTION,
        {'shrink': {'new_size': 1}},
        'available',
        400,
        'wrong_state',
        f'{MUST_BE}shrink it, it must be available',
    ),
    'revert': (
        ACTION,
        {'revert': {'snapshot_id': '{snapshot}'}},
        'available',
        409,
        'wrong_state',
        f'{MUST_BE}revert it, it must be available',
    ),
    'unmanage': (
        ACTION,
        {'unmanage': None},
        f'available {BROKEN} {_UNMANAGED}',
        403,
        'wrong_state',
        f'{MUST_BE}unmanage it, it must be',
    ),
    'soft_delete': (
        ACTION,
        {'soft_delete': None},
        'available error inactive',
        403,
        'wrong_state',
        'Share {share} is {status}; it must be available, error, inactive',
    ),
    'allow_access': (
        ACTION,
        {'allow_access': {'access_type': 'ip', 'access_to': '10.0.0.1'}},
        'available',
        400,
        'share_not_available',
        'Share {share} is {status}; its access rules can be changed when',
    ),
    'transfer': (
        '/share-transfers',
        {'transfer': {'share_id': '{share}'}},
        'available',
        400,
        'wrong_state',
        f'{MUST_BE}transfer it, it must be available',
    ),
    'back_up': (
        '/share-backups',
        {'share_backup': {'share_id': '{share}'}},
        'available',
        400,
        'wrong_state',
        f'{MUST_BE}back up it, it must be available',
    ),
    'snapshot': (
        '/snapshots',
        {'snapshot': {'share_id': '{share}'}},
        'available',
        400,
        'wrong_state',
        f'{_NOT_AVAILABLE}; to take a snapshot, it must be available',
    ),
    'forced snapshot': (
        '/snapshots',
        {'snapshot': {'share_id': '{share}', 'force': True}},
        'available extending_error shrinking_error',
        400,
        'wrong_state',
        f'{_NOT_AVAILABLE}; to take a snapshot, it must be available or extending_error or shrinking_error',
    ),
    'manage snapshot': (
        '/snapshots/manage',
        {'snapshot': {'share_id': '{share}', 'provider_location': 'x'}},
        'available',
        409,
        'wrong_state',
        f'{_NOT_AVAILABLE}; it must be available',
    ),
}


class Shares(refused.Refusing):
    """A share in every status."""

    def test_requests_in_a_forbidden_share_status_are_refused_and_name_it(self):
        ids = {'share': self.share(size=2)}
        ids['snapshot'] = self.snapshot(ids['share'])
        self.assertEqual(
            [],
            self.wrong(
                self.admin,
                SHARES,
                ids,
                states.SHARE.statuses,
                lambda now: self.share_is(ids['share'], status=now),
            ),
        )

    def test_restore_is_allowed_only_in_available_and_backup_restoring_error(self):
        ids = {'share': self.share(size=2)}
        ids['backup'] = self.backup(ids['share'])
        calls = {
            'restore': (
                '/share-backups/{backup}/action',
                {'restore': None},
                'available backup_restoring_error',
                400,
                'wrong_state',
                f'{MUST_BE}take back it, it must be available or backup_restoring_error',
            )
        }
        self.assertEqual(
            [],
            self.wrong(
                self.admin,
                calls,
                ids,
                states.SHARE.statuses,
                lambda now: self.share_is(ids['share'], status=now),
            ),
        )

    def test_access_rule_of_a_share_in_deletion_cannot_be_denied(self):
        ids = {'share': self.share()}
        ids['rule'] = self.rule(ids['share'])
        calls = {
            'deny': (
                ACTION,
                {'deny_access': {'access_id': '{rule}'}},
                '',
                400,
                'wrong_state',
                'Share {share} is {status}; its access rules are deleted with it.',
            )
        }
        self.assertEqual(
            [],
            self.wrong(
                self.admin,
                calls,
                ids,
                {'deleting', 'unmanage_starting'},
                lambda now: self.share_is(ids['share'], status=now),
            ),
        )

    def test_replica_is_refused_unless_the_share_is_available(self):
        self.type('replicated', replication_type='dr')
        ids = {'share': self.share(share_type='replicated')}
        calls = {
            'replica': (
                '/share-replicas',
                {'share_replica': {'share_id': '{share}'}},
                'available',
                400,
                'share_not_available',
                'share {share} is {status}; to make a replica, it must be available',
            )
        }
        self.assertEqual(
            [],
            self.wrong(
                self.admin,
                calls,
                ids,
                states.SHARE.statuses,
                lambda now: self.share_is(ids['share'], status=now),
            ),
        )

    def test_lock_of_a_share_in_deletion_is_refused(self):
        ids = {'share': self.share()}
        calls = {
            'lock': (
                '/resource-locks',
                {'resource_lock': {'resource_id': '{share}', 'resource_type': 'share'}},
                '',
                409,
                'too_late_to_lock',
                'Share {share} is {status}: it is too late to lock it',
            )
        }
        going = {
            'deleting',
            'error_deleting',
            'unmanage_starting',
            'unmanage_error',
            'deferred_deleting',
            'error_deferred_deleting',
        }
        self.assertEqual(
            [], self.wrong(self.admin, calls, ids, going, lambda now: self.share_is(ids['share'], status=now))
        )


_OF_SNAPSHOT = '/snapshots/{snapshot}/action'
_SNAPSHOT_IS = 'The snapshot is {status}; to '
_MOVING = {'migrating', 'server_migrating'}
_SNAPSHOTS = {
    'delete': (
        '/snapshots/{snapshot}',
        None,
        'available error error_deleting',
        403,
        'wrong_state',
        f'{_SNAPSHOT_IS}delete it, it must be available or error or error_deleting',
    ),
    'force_delete': (
        _OF_SNAPSHOT,
        {'force_delete': None},
        ' '.join(states.SNAPSHOT.statuses - _MOVING),
        403,
        'wrong_state',
        f'{_SNAPSHOT_IS}force delete it, it must be',
    ),
    'unmanage': (
        _OF_SNAPSHOT,
        {'unmanage': None},
        'available error error_deleting manage_error unmanage_error',
        403,
        'wrong_state',
        f'{_SNAPSHOT_IS}unmanage it, it must be',
    ),
    'allow_access': (
        _OF_SNAPSHOT,
        {'allow_access': {'access_type': 'ip', 'access_to': '10.0.0.1'}},
        'available',
        400,
        'snapshot_not_available',
        'Snapshot {snapshot} is {status}; it can be mounted when it is available',
    ),
    'share': (
        '/shares',
        {'share': {'size': 1, 'share_proto': 'NFS', 'snapshot_id': '{snapshot}'}},
        'available',
        400,
        'invalid_input',
        'snapshot_id: snapshot {snapshot} is {status}, not available',
    ),
    # A snapshot in error is not the latest one.
    'revert': (
        ACTION,
        {'revert': {'snapshot_id': '{snapshot}'}},
        'available error manage_error',
        409,
        'wrong_state',
        f'{_SNAPSHOT_IS}restore it, it must be available',
    ),
    'transfer': (
        '/share-transfers',
        {'transfer': {'share_id': '{share}'}},
        'available error',
        400,
        'wrong_state',
        'Snapshot {snapshot} of share {share} is {status}, not available',
    ),
}


class Snapshots(refused.Refusing):
    """A snapshot in every status."""

    def setUp(self):
        super().setUp()
        self.ids = {'share': self.share()}
        self.ids['snapshot'] = self.snapshot(self.ids['share'])

    def be(self, now):
        self.put(models.snapshots, self.ids['snapshot'], status=now)

    def test_requests_in_a_forbidden_snapshot_status_are_refused_and_name_it(self):
        self.assertEqual([], self.wrong(self.admin, _SNAPSHOTS, self.ids, states.SNAPSHOT.statuses, self.be))

    def test_access_rule_of_a_snapshot_in_deletion_cannot_be_denied(self):
        rule = self.user.ok(
            'POST',
            _OF_SNAPSHOT.format(**self.ids),
            {'allow_access': {'access_type': 'ip', 'access_to': '10.0.0.1'}},
        )['snapshot_access']
        ids = {**self.ids, 'rule': rule['id']}
        calls = {
            'deny': (
                _OF_SNAPSHOT,
                {'deny_access': {'access_id': '{rule}'}},
                '',
                400,
                'wrong_state',
                'Snapshot {snapshot} is {status}; its access rules are deleted with it.',
            )
        }
        self.assertEqual([], self.wrong(self.admin, calls, ids, {'deleting', 'unmanage_starting'}, self.be))


class Rules(refused.Refusing):
    """An access rule in every state."""

    def setUp(self):
        super().setUp()
        self.ids = {'share': self.share()}
        self.ids['rule'] = self.rule(self.ids['share'])

    def be(self, now):
        self.put(models.access_rules, self.ids['rule'], state=now)

    def test_lock_of_an_access_rule_in_removal_is_refused(self):
        calls = {
            'lock': (
                '/resource-locks',
                {'resource_lock': {'resource_id': '{rule}', 'resource_type': 'access_rule'}},
                '',
                409,
                'too_late_to_lock',
                'Access rule {rule} is {status}: it is too late to lock it.',
            )
        }
        self.assertEqual([], self.wrong(self.user, calls, self.ids, {'queued_to_deny', 'denying'}, self.be))

    def test_level_change_is_refused_unless_the_rule_is_active_or_in_error(self):
        found = []
        for now in sorted(states.ACCESS.statuses - {'active', 'error'}):
            self.be(now)
            status, said, _ = self.user.call(
                'PUT', f'/share-access-rules/{self.ids["rule"]}', {'update_access': {'access_level': 'ro'}}
            )
            if (
                status != 400
                or f'The access rule is {now}; to update it, it must be active or error.' not in str(said)
            ):
                found.append((now, status, said))
        self.assertEqual([], found)


_OF_BACKUP = '/share-backups/{backup}/action'
_BACKUPS = {
    'delete': (
        '/share-backups/{backup}',
        None,
        'available error error_deleting',
        400,
        'wrong_state',
        'The share backup is {status}; to delete it, it must be available or error or error_deleting',
    ),
    'restore': (
        _OF_BACKUP,
        {'restore': None},
        'available',
        400,
        'wrong_state',
        'The share backup is {status}; to restore it, it must be available',
    ),
}


class Backups(refused.Refusing):
    """A backup in every status."""

    def test_requests_in_a_forbidden_backup_status_are_refused_and_name_it(self):
        ids = {'share': self.share()}
        ids['backup'] = self.backup(ids['share'])
        self.assertEqual(
            [],
            self.wrong(
                self.admin,
                _BACKUPS,
                ids,
                states.SHARE_BACKUP.statuses,
                lambda now: self.put(models.share_backups, ids['backup'], status=now),
            ),
        )
