# SPDX-License-Identifier: Apache-2.0
"""Real backups of the files of shares through the API; restored after a restart, and at another backend."""

import os
from pathlib import Path

from manila_lite.tests import forks, process
from manila_lite.tests.functional.linux import filled, test_share_migration

_TYPES = """[DEFAULT]
enabled_backup_types = saved, nowhere, bare
[saved]
backup_mount_export = {state}/export
backup_mount_proto = none
backup_mount_options = bind
backup_continue_update_interval = 0.1
[nowhere]
backup_mount_export = {state}/not-there
backup_mount_proto = none
backup_mount_options = bind
backup_continue_update_interval = 0.1
[bare]
backup_mount_export = none
backup_mount_proto = ramfs
backup_continue_update_interval = 0.1
"""


class BacksUp(filled.Filled, test_share_migration.Moves):
    """The backends of the migration tests. Backups are in a directory: the kernel here has no NFS client."""

    BACKEND = test_share_migration.Moves.BACKEND + _TYPES
    # These tests are about migrations.
    test_a_share_moves_with_its_data_and_rules = (
        test_cancelled_migration_leaves_nothing_at_the_destination
    ) = None

    def setUp(self):
        super().setUp()
        (self.state / 'export').mkdir()

    def back_up(self, share, kind='saved'):
        return self.lite.ok(
            'POST',
            '/share-backups',
            {'share_backup': {'share_id': share, 'backup_options': {'backup_type': kind}}},
        )['share_backup']['id']

    def ends(self, backup, status='available'):
        self.lite.wait(f'/share-backups/{backup}', 'share_backup', status)

    def restore(self, backup, target=None):
        self.lite.ok('POST', f'/share-backups/{backup}/action', {'restore': target}, version='2.91')

    def again(self):
        """Kill the service and start it again."""
        self.lite.kill()
        self.lite.start()

    def assert_nothing_is_left(self, backend):
        self.assertEqual([], list((self.state / 'lib' / backend / 'backups').glob('*')))
        self.assertEqual([], list((self.state / 'lib' / backend / 'pool' / 'backups').glob('*')))
        self.assertNotIn(f'{self.state}/lib/{backend}/backups', Path('/proc/mounts').read_text())

    def test_backup_restores_all_files_after_a_restart_and_at_other_backends(self):
        share = self.make('alpha')
        self.act(share, 'allow_access', {'access_type': 'ip', 'access_to': self.fabric.v4('one')})
        self.lite.wait(f'/shares/{share}', 'share', 'active', field='access_rules_status')
        self.works(share, 'write', 'f', 'hello')
        place = self.place('alpha', share)
        copy = self.fill(place)
        backup = self.back_up(share)
        self.again()
        self.ends(backup)
        self.assert_as(copy, self.state / 'export' / backup)
        self.assert_nothing_is_left('alpha')
        self.spoil(place)
        os.removexattr(place / 'same', 'user.colour')
        self.works(share, 'write', 'f', 'spoilt')
        self.restore(backup)
        self.again()
        self.lite.wait(f'/shares/{share}', 'share', 'available')
        self.assert_as(copy, place)
        self.assertEqual('hello', self.works(share, 'read', 'f'))
        self.assert_nothing_is_left('alpha')
        for backend, more in (('beta', {}), ('plain', {'share_type': 'any'})):
            target = self.make(backend, **more)
            self.restore(backup, target)
            self.lite.wait(f'/shares/{target}', 'share', 'available')
            self.assert_as(copy, self.place(backend, target))
        second = self.back_up(target)
        self.ends(second)
        self.assert_as(copy, self.state / 'export' / second)
        for gone in (backup, second):
            self.lite.ok('DELETE', f'/share-backups/{gone}')
            self.ends(gone, 'gone')
        self.assertEqual([], os.listdir(self.state / 'export'))

    def test_reset_of_the_share_status_removes_intermediate_copies(self):
        share = self.make('alpha')
        (self.place('alpha', share) / 'big').write_bytes(os.urandom(200 << 20))
        backup = self.back_up(share)
        process.until((self.state / 'export' / backup).exists, 'it has begun', self.lite.tail)
        self.assertEqual(202, self.act(share, 'reset_status', {'status': 'available'})[0])
        left = [self.state / 'lib/alpha/backups', self.state / 'lib/alpha/pool/backups']
        process.until(
            lambda: not any(list(place.iterdir()) for place in left), 'nothing is left', self.lite.tail
        )
        self.assert_nothing_is_left('alpha')

    def test_intermediate_copy_is_removed_after_a_switch_to_nfs_backups(self):
        """Check that the driver's own intermediate copy is removed although the share is now to be mounted."""
        share = self.make('alpha')
        (self.place('alpha', share) / 'big').write_bytes(os.urandom(200 << 20))
        backup = self.back_up(share)
        kept = self.state / 'lib/alpha/pool/backups' / backup
        process.until(kept.exists, 'it has begun', self.lite.tail)
        self.lite.kill()
        self.assertTrue(kept.exists())
        with self.lite.config.open('a') as config:
            config.write('[alpha]\nbackup_over_nfs = true\n')
        self.lite.start()
        process.until(lambda: not kept.exists(), 'it is gone', self.lite.tail)

    def test_another_backend_deletes_the_backup_of_a_removed_backend(self):
        """Check that another backend deletes the backup."""
        backup = self.back_up(self.make('alpha'))
        self.ends(backup)
        self.lite.kill()
        text = self.lite.config.read_text()
        self.lite.config.write_text(
            text.replace('enabled_share_backends = alpha, beta,', 'enabled_share_backends = beta,')
        )
        self.lite.start()
        self.lite.ok('DELETE', f'/share-backups/{backup}', wait=False)
        self.assertEqual([backup], os.listdir(self.state / 'export'))
        done = forks.run(
            'manila_lite.cmd.manage:main',
            f'--config-file={self.lite.config}',
            'share_backup',
            'update_host',
            '--currenthost',
            'test@alpha',
            '--newhost',
            'test@beta',
            '--force',
        )
        self.assertEqual(
            (0, 'From test@alpha to test@beta: 1 backup, 1 waiting deletion.\n'),
            (done.returncode, done.stdout),
            done.stderr,
        )
        self.ends(backup, 'gone')
        self.assertEqual([], os.listdir(self.state / 'export'))

    def test_backup_fails_when_the_export_has_no_extended_attributes(self):
        share = self.make('alpha')
        self.fill(self.place('alpha', share))
        backup = self.back_up(share, 'bare')
        self.ends(backup, 'error')
        [told] = self.lite.ok('GET', f'/messages?resource_id={backup}')['messages']
        self.assertIn(
            'extended attributes that the export for backups of type bare cannot keep', told['user_message']
        )
        self.assertEqual(1, self.lite.log.read_text().count(f'The copy of backup {backup} broke'))
        self.lite.wait(f'/shares/{share}', 'share', 'available')
        self.assert_nothing_is_left('alpha')

    def test_backup_fails_when_its_export_cannot_be_mounted(self):
        share = self.make('alpha')
        backup = self.back_up(share, 'nowhere')
        self.ends(backup, 'error')
        self.lite.wait(f'/shares/{share}', 'share', 'available')
        (self.state / 'not-there').mkdir()
        self.lite.ok('DELETE', f'/share-backups/{backup}')
        self.ends(backup, 'gone')
