# SPDX-License-Identifier: Apache-2.0
"""Shares of a btrfs pool are backed up and restored while their owner tries to lead the copy elsewhere."""

import os
import shutil

from manila_lite.drivers.linux.backups import private_copies
from manila_lite.drivers.linux.pool import btrfs
from manila_lite.tests.security import copies_base

_GIB = 1 << 30


class Btrfs(copies_base.Backups):
    """Restores write to a place that no client reaches."""

    def test_restored_files_appear_only_when_the_restore_is_complete(self):
        place = self.at(self.mine)
        (place / 'good').write_text('data')
        (place / 'big').write_bytes(os.urandom(60 << 20))
        backup = self.backup()
        self.assertEqual('', self.ends('create', self.mine, backup))
        shutil.rmtree(place / 'good', ignore_errors=True)
        (place / 'good').write_text('spoilt')
        (place / 'big').unlink()
        self.grant(self.mine, (self.fabric.v4('one'), 'rw'))
        self.driver.restore_backup(self.mine, backup)
        draft = private_copies.at(self.driver.parts.pool, backup.id)
        self.assertTrue((draft / 'good').exists())

        def look():
            return tuple(sorted((path.name, path.stat().st_size) for path in place.iterdir()))

        seen = {look()}  # also if the copy is over by now: nothing has put it in place yet
        while self.driver.copies.is_copying(backup) and self.driver.copies._running[backup.id].is_alive():
            seen.add(look())
        self.assertEqual({(('good', 6),)}, seen)
        self.assertEqual('spoilt', self.works('one', self.mine, 'read', 'good'))
        self.assertEqual(100, self.driver.restore_backup_continue(self.mine, backup).percent)
        self.assertEqual('data', self.works('one', self.mine, 'read', 'good'))
        self.assertFalse(draft.exists())
        self.assertEqual(_GIB, btrfs.limit_of(self.driver.parts.pool.root, self.at(self.mine)))
        self.assertEqual([self.mine.id], [path.name for path in self.at(self.mine).parent.iterdir()])

    def test_cancelled_restore_leaves_the_share_unchanged(self):
        (self.at(self.mine) / 'good').write_text('data')
        backup = self.backup()
        self.assertEqual('', self.ends('create', self.mine, backup))
        (self.at(self.mine) / 'good').write_text('newer')
        self.driver.restore_backup(self.mine, backup)
        self.driver.copies.clear(backup.id)
        self.assertEqual('newer', (self.at(self.mine) / 'good').read_text())
        self.assertEqual(frozenset(), self.driver.copies.left())

    def test_restore_larger_than_the_share_is_refused(self):
        (self.at(self.mine) / 'good').write_text('data')
        backup = self.backup()
        self.assertEqual('', self.ends('create', self.mine, backup))
        self.patch(private_copies, 'GIB', 32 << 20)  # so that little data is enough
        for size, why in ((50, 'more than the share'), (100, 'There is not enough space')):
            (self.kept(backup) / 'more').write_bytes(os.urandom(size << 20))
            self.assertIn(why, self.ends('restore', self.mine, backup))
        self.assertEqual(['good'], os.listdir(self.at(self.mine)))
