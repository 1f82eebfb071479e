# SPDX-License-Identifier: Apache-2.0
"""``manila-manage share_backup`` on records of backups, beside a running service."""

from oslo_utils import timeutils

from manila_lite.db import models
from manila_lite.db.queries import operations
from manila_lite.tests.functional import manage
from manila_lite.tests.functional.backups.test_share_backups import BackingUp


class WithoutItsBackend(manage.ManageTest, BackingUp):
    """Backups whose backend, type or export is gone for good."""

    BACKENDS = {'alpha': ''}
    GONE = 'gone@fast'

    def made(self):
        """Return a backup made by a backend that is gone, and its share."""
        share = self.admin.share()
        backup = self.back_up(share)
        self.is_now(share, 'available')
        self.write(models.share_backups, backup['id'], host=self.GONE)
        return backup['id'], share

    def waits(self, backup):
        """Ask for the deletion of the backup; check that the operation waits."""
        self.admin.ok('DELETE', f'/share-backups/{backup}', wait=False)
        with self.service.services.db.reader() as conn:
            self.assertTrue(operations.is_open(conn, f'backup:{backup}'))

    def complaint(self, *words):
        return self.manage('share_backup', *words, status=1)[1]

    def test_update_host_gives_backups_to_a_backend_that_deletes_them(self):
        (backup, share), (kept, _) = self.made(), self.made()
        self.waits(backup)
        move = ('update_host', '--currenthost', self.GONE, '--newhost')
        out, _ = self.manage('share_backup', *move, 'test@alpha')
        self.assertIn('2 backups, 1 waiting deletion', out)
        self.backup_is_now({'id': backup}, 'gone')
        store = self.driver(share)[0].store
        self.assertIsNone(store.backups.get(backup))
        self.admin.ok('DELETE', f'/share-backups/{kept}')
        self.backup_is_now({'id': kept}, 'gone')
        self.assertIsNone(store.backups.get(kept))

    def test_update_host_refuses_wrong_or_down_backends_unless_forced(self):
        backup, _ = self.made()
        for old, new, said in (
            (self.GONE, 'test', 'host@backend'),
            (self.GONE, self.GONE, 'host@backend'),
            (self.GONE, 'test@alpha#pool', 'host@backend'),
            (self.GONE, 'nobody@far', 'is not up'),
            ('test@alpha', 'test@alpha', 'host@backend'),
            ('test@alpha', self.GONE, 'is not up'),
        ):
            self.assertIn(said, self.complaint('update_host', '--currenthost', old, '--newhost', new))
        self.add(
            models.services,
            host='second@fast',
            binary='manila-share',
            topic='manila-share',
            heartbeat_at=timeutils.utcnow(),
        )
        self.assertIn(
            'can delete its backups itself',
            self.complaint('update_host', '--currenthost', 'second@fast', '--newhost', 'test@alpha'),
        )
        shown = self.admin.ok('GET', f'/share-backups/{backup}')['share_backup']
        self.assertEqual((self.GONE, 'available'), (shown['host'], shown['status']))
        self.manage(
            'share_backup', 'update_host', '--currenthost', self.GONE, '--newhost', 'nobody@far', '--force'
        )
        self.assertEqual(
            'nobody@far', self.admin.ok('GET', f'/share-backups/{backup}')['share_backup']['host']
        )

    def test_backup_of_a_lost_backend_is_deleted_from_the_database(self):
        backup, share = self.made()
        self.assertIn('openstack share backup delete', self.complaint('delete', backup))
        self.waits(backup)
        used = self.used()
        out, _ = self.manage('share_backup', 'delete', backup)
        self.assertIn(
            f'{backup} may still be a directory in the export of type nightly, or at {self.GONE}', out
        )
        self.backup_is_now({'id': backup}, 'gone')
        self.assertEqual(used - 1, self.used())
        self.assertIn('could not be found', self.complaint('delete', backup))
        with self.service.services.db.reader() as conn:
            self.assertFalse(operations.is_open(conn, f'backup:{backup}'))
        self.assertIsNotNone(self.driver(share)[0].store.backups.get(backup))
        self.admin.ok('DELETE', f'/shares/{share["id"]}')
        self.is_now(share, 'gone')

    def used(self):
        return self.admin.ok('GET', '/quota-sets/p/detail')['quota_set']['backups']['in_use']

    def test_backup_being_created_is_deleted_by_force_only(self):
        share = self.admin.share()
        go_on = self.hang(share, 'create_backup_continue:hang')
        self.addCleanup(go_on)
        backup = self.back_up(share, wait=None)['id']
        self.is_now(share, 'backup_creating')
        self.assertIn('is creating', self.complaint('delete', backup))
        self.manage('share_backup', 'delete', backup, '--force')
        self.is_now(share, 'available')
        go_on()
        self.back_up(share)
