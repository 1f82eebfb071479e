# SPDX-License-Identifier: Apache-2.0
"""A small copy ends soon, however long the interval between looks at long copies is. Each look of the dummy copies a part."""

from manila_lite.tests.functional import base

_BACKEND = 'migration_driver_continue_update_interval = 3600\n'
#: Three looks come within three seconds. Without the first ones, the second would come after the interval.


class CopyChecks(base.ServiceTest):
    BACKENDS = dict.fromkeys(('alpha', 'beta'), _BACKEND)
    EXTRA = 'enabled_backup_types = rare\n[rare]\nbackup_continue_update_interval = 300\n'

    def test_small_share_is_copied_long_before_the_interval(self):
        share = self.admin.share(scheduler_hints={'only_host': 'test@alpha#pool1'})
        for _ in range(2):
            snapshot = self.admin.ok('POST', '/snapshots', {'snapshot': {'share_id': share['id']}})[
                'snapshot'
            ]
            self.admin.wait(f'/snapshots/{snapshot["id"]}', 'snapshot', 'available')
        self.admin.action(
            share['id'],
            'migration_start',
            {
                'host': 'test@beta#pool1',
                'writable': True,
                'nondisruptive': False,
                'preserve_snapshots': True,
                'preserve_metadata': True,
            },
        )
        self.admin.wait(f'/shares/{share["id"]}', 'share', 'migration_driver_phase1_done', field='task_state')
        [moving] = self.admin.ok('GET', f'/operations?resource_id={share["id"]}&kind=share.migrate')[
            'operations'
        ]
        self.assertEqual(('wait', 100), (moving['phase'], moving['progress']['percent']))

    def test_small_backup_ends_long_before_the_interval_and_its_project_sees_its_progress(self):
        user = self.caller()
        share = user.share()
        backup = user.ok(
            'POST',
            '/share-backups',
            {'share_backup': {'share_id': share['id']}},
            headers={'X-OpenStack-Manila-API-Experimental': 'true'},
        )['share_backup']
        base.eventually(lambda: self.seen(user, backup)['state'] == 'done', 'the backup is not done')
        self.assertEqual(
            ('share_backup.create', 100),
            (self.seen(user, backup)['kind'], self.seen(user, backup)['progress']['percent']),
        )

    @staticmethod
    def seen(user, backup):
        """Return the operation that makes the backup."""
        [op] = user.ok('GET', f'/operations?resource_id={backup["id"]}')['operations']
        return op
