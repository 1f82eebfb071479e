# SPDX-License-Identifier: Apache-2.0
"""Shares are cloned, reverted, managed and deleted while their owner tries to lead the service elsewhere."""

import os
import shutil
import tempfile
from pathlib import Path

import testtools
from oslo_utils import uuidutils

from manila_lite import errors, values
from manila_lite.drivers.linux.pool.directory import Directory
from manila_lite.host import trees
from manila_lite.tests.factories import files
from manila_lite.tests.functional.linux import base, cifs_base
from manila_lite.tests.security import tenant


class Snapshots(base.ShareTest):
    """The kernel clones and reverts; no program reads the tree."""

    def setUp(self):
        super().setUp()
        folder = Path(tempfile.mkdtemp(prefix='ml-outside-'))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        self.outside = tenant.Outside(folder / 'outside')
        self.place = self.driver.parts.pool.share(self.made.id)

    def test_clone_and_revert_give_the_same_tree_during_an_attack(self):
        tenant.plant(self.place, self.outside.place)
        tenant.nest(self.place, 200)
        before = tenant.tree(self.place)
        taken = self.snapshot(self.made)
        (self.place / 'hand').mkdir()
        (self.place / 'link').symlink_to(self.outside.place)
        with tenant.swapping(self.place / 'hand', self.place / 'link'):
            for _ in range(2):
                clone = values.Share(uuidutils.generate_uuid(), 's', 'p', 1, 'NFS', 'pool')
                self.addCleanup(self.driver.delete_share, clone)
                self.driver.create_share_from_snapshot(clone, taken)
                self.driver.revert_to_snapshot(taken)
                for share in (clone, self.made):
                    self.assertEqual(before, tenant.tree(self.driver.parts.pool.share(share.id)))
        self.assertTrue(self.outside.is_untouched())

    def test_ten_thousand_directories_are_deleted_with_their_share(self):
        tenant.nest(self.place, 10000)
        self.driver.delete_share(self.made)
        self.assertEqual([], [name for name in os.listdir(self.place.parent) if self.made.id in name])


class Trees(testtools.TestCase):
    """Trees that are deleted file by file."""

    def setUp(self):
        super().setUp()
        if lacks := base.missing():
            self.skipTest(f'real storage needs {lacks}')
        self.folder = Path(tempfile.mkdtemp(prefix='ml-trees-'))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.outside = tenant.Outside(self.folder / 'outside')
        self.pool = Directory(self.folder / 'pool')
        self.pool.open()
        self.pool.create('s', 1)
        self.place = self.pool.share('s')

    def delete(self):
        self.pool.discard('s')
        self.pool.purge('s')
        self.assertEqual([], os.listdir(self.folder / 'pool' / 'shares'))
        self.assertTrue(self.outside.is_untouched())

    def test_every_kind_of_file_is_deleted(self):
        tenant.plant(self.place, self.outside.place)
        self.delete()

    def test_three_thousand_nested_directories_are_deleted(self):
        tenant.nest(self.place, 3000)
        self.delete()

    def test_directory_swapped_for_a_link_is_deleted_without_following_it(self):
        """The directory that was opened is deleted also when it has another name by then."""
        for _ in range(10):
            victim = self.folder / 'victim'
            (victim / 'd').mkdir(parents=True)
            for number in range(60):
                (victim / 'd' / f'f{number}').write_text('harmless')
            (victim / 'link').symlink_to(self.outside.place)
            with tenant.swapping(victim / 'd', victim / 'link'):
                trees.remove(victim)
            self.assertFalse(victim.exists())
            self.assertTrue(self.outside.is_untouched())

    def test_directories_with_odd_names_are_deleted(self):
        for name in files.NAMES:
            os.mkdir(os.path.join(os.fsencode(self.place), name))
        self.delete()


@cifs_base.needs_samba
class TakenOver(cifs_base.Directory):
    """In a plain directory a share looks like any directory."""

    def test_directories_inside_a_share_cannot_be_managed(self):
        mine = self.share()
        place = self.driver.parts.pool.share(mine.id)
        (place / 'sub' / 'name').mkdir(parents=True)
        share = values.Share(uuidutils.generate_uuid(), 's', 'p', 0, 'CIFS', 'pool')
        for way in (('sub',), ('sub', 'name')):
            bad = self.assertRaises(
                errors.Final, self.driver.manage_share, share, str(place.joinpath(*way)), {'size': '1'}
            )
            self.assertIn('is inside a share', str(bad))
        self.assertTrue((place / 'sub' / 'name').is_dir())
