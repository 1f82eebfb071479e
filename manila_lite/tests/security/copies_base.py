# SPDX-License-Identifier: Apache-2.0
"""Attacks on backups, for each way to make them: the share's owner tries to lead the copy elsewhere, or to no end."""

import os
import shutil

from manila_lite.tests.factories import files
from manila_lite.tests.functional.linux import copying
from manila_lite.tests.security import tenant

_GIB = 1 << 30
ROUNDS = 4
#: The message of a backup that ends well, or whose files change too fast.
BROKEN = '^$|^The copy broke 5 times. '


class Backups(copying.BackupTest):
    """Attacks on ``self.copies``."""

    def setUp(self):
        super().setUp()
        self.outside = tenant.Outside(self.folder / 'outside')

    # Planted before the copy ---------------------------------------------------------------------------

    def test_every_kind_of_file_is_copied(self):
        tenant.plant(self.at(self.mine), self.outside.place)
        backup, before = self.backup(), tenant.tree(self.at(self.mine))
        self.assertEqual('', self.ends('create', self.mine, backup))
        self.assertEqual(before, tenant.tree(self.kept(backup)))
        for name in files.NAMES:
            os.unlink(os.path.join(os.fsencode(self.at(self.mine)), name))
        self.assertEqual('', self.ends('restore', self.mine, backup))
        self.assertEqual(before, tenant.tree(self.at(self.mine)))
        self.assertTrue(self.outside.is_untouched())

    def test_planted_links_are_overwritten_and_not_followed(self):
        place = self.at(self.mine)
        for name in ('to-file', 'to-folder/f1', 'pipe', 'zero', 'one', 'two', 'folder/data'):
            (place / name).parent.mkdir(exist_ok=True)
            (place / name).write_text(f'good {name}')
        backup, before = self.backup(), tenant.tree(place)
        self.assertEqual('', self.ends('create', self.mine, backup))
        for name in ('to-file', 'to-folder', 'pipe', 'zero', 'two', 'folder'):
            shutil.rmtree(place / name) if (place / name).is_dir() else (place / name).unlink()
        (place / 'to-file').symlink_to(self.outside.place / 'f1')
        (place / 'to-folder').symlink_to(self.outside.place)
        (place / 'folder').symlink_to('/')
        os.mkfifo(place / 'pipe')
        os.mknod(place / 'zero', 0o20666, os.makedev(1, 5))
        os.link(place / 'one', place / 'two')
        self.assertEqual('', self.ends('restore', self.mine, backup))
        self.assertEqual(before, tenant.tree(self.at(self.mine)))
        self.assertTrue(self.outside.is_untouched())

    def test_backup_of_ten_thousand_nested_directories_fails_and_leaves_nothing(self):
        place = self.at(self.mine)
        (place / 'good').write_text('data')
        backup = self.backup()
        self.assertEqual('', self.ends('create', self.mine, backup))
        tenant.nest(place, 10000)
        second = self.backup()
        self.assertIn('nested too deeply', self.ends('create', self.mine, second))
        self.copies.delete_backup(second)
        self.assertEqual([backup.id], os.listdir(self.export))
        self.assertEqual('', self.ends('restore', self.mine, backup))
        self.assertEqual(['good'], os.listdir(self.at(self.mine)))

    def test_backup_of_a_huge_sparse_file_fails_without_filling_the_disk(self):
        place = self.at(self.mine)
        (place / 'good').write_text('data')
        with (place / 'sparse').open('wb') as file:
            file.truncate(8 << 40)
        backup, free = self.backup(ratio=0.25), os.statvfs(self.state).f_bavail
        self.assertIn('more than 0.25 times the share', self.ends('create', self.mine, backup))
        self.assertGreater(os.statvfs(self.state).f_bavail * 4096, free * 4096 - _GIB)
        self.copies.delete_backup(backup)
        self.assertEqual([], os.listdir(self.export))
        os.truncate(place / 'sparse', 128 << 20)
        well = self.backup(ratio=0.25)
        self.assertEqual('', self.ends('create', self.mine, well))
        self.assertLess((self.kept(well) / 'sparse').stat().st_blocks, 1000)

    # Changed during the copy ---------------------------------------------------------------------------

    def bait(self, place):
        """Make a directory, and a link to the outside that shall take its place; return both."""
        for name in ('d', 'link'):
            if os.path.lexists(place / name):
                (place / name).unlink() if (place / name).is_symlink() else shutil.rmtree(place / name)
        (place / 'd').mkdir()
        for number in range(60):
            (place / 'd' / f'f{number}').write_text('harmless')
        (place / 'link').symlink_to(self.outside.place)
        return place / 'd', place / 'link'

    def test_directory_swapped_for_a_link_during_backup_leaks_nothing(self):
        pair = self.bait(self.at(self.mine))
        (self.at(self.mine) / 'good').write_text('data')
        with tenant.swapping(*pair):
            for _ in range(ROUNDS):
                backup = self.backup()
                message = self.ends('create', self.mine, backup)
                self.assertRegex(message, BROKEN)
                if not message:
                    self.assertEqual('data', (self.kept(backup) / 'good').read_text())
                    self.assertEqual([], self.outside.leaked(self.kept(backup)))

    def test_directory_swapped_for_a_link_during_restore_is_not_followed(self):
        place = self.at(self.mine)
        self.bait(place)
        (place / 'good').write_text('data')
        backup = self.backup()
        self.assertEqual('', self.ends('create', self.mine, backup))
        for number in range(60):
            (self.kept(backup) / 'd' / f'f{number}').write_text(f'to be restored {number}')
        for _ in range(ROUNDS):
            with tenant.swapping(*self.bait(self.at(self.mine))):
                message = self.ends('restore', self.mine, backup)
            self.assertRegex(message, BROKEN)
            self.assertTrue(self.outside.is_untouched())
            self.assertEqual('data', (self.at(self.mine) / 'good').read_text())
