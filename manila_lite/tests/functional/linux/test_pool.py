# SPDX-License-Identifier: Apache-2.0
"""Pools alone: after the death of a process at any point, a share is whole or gone."""

import itertools
import shutil
import tempfile
import unittest
from pathlib import Path

import testtools

from manila_lite import errors
from manila_lite.drivers.linux.pool import btrfs, btrfs_pool, directory
from manila_lite.tests.functional.linux import base
from manila_lite.tests.linux_teardown import close


class Btrfs(testtools.TestCase):
    """Subvolumes on a real file system."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if lacks := base.missing():
            raise unittest.SkipTest(f'real storage needs {lacks}')
        cls.root = Path(tempfile.mkdtemp(prefix='ml-pool-'))
        cls.addClassCleanup(shutil.rmtree, cls.root, ignore_errors=True)
        cls.pool = btrfs_pool.BtrfsPool(cls.root / 'mnt', cls.root / 'pool.img', 1)
        cls.addClassCleanup(close, cls.pool, remove_data=True)
        cls.pool.open()

    def leave(self, path, content):
        """Make a subvolume with this content."""
        btrfs.create(path)
        (path / 'f').write_text(content)

    def names(self):
        return sorted(path.name for path in (self.pool.root / 'shares').iterdir())

    def test_share_is_whole_or_absent_after_any_interrupted_rename(self):
        outcomes = {}
        for number, there in enumerate(itertools.product((False, True), repeat=3)):
            share_id = f'share-{number}'
            for place, content, wanted in zip(
                (self.pool.share, self.pool._draft, self.pool._old),
                ('share', 'draft', 'old'),
                there,
                strict=True,
            ):
                if wanted:
                    self.leave(place(share_id), content)
            self.pool.recover(share_id)
            self.pool.recover(share_id)
            share = self.pool.share(share_id)
            outcomes[there] = (share / 'f').read_text() if share.exists() else None
            self.assertFalse(self.pool._draft(share_id).exists() or self.pool._old(share_id).exists())
            self.pool.discard(share_id)
            self.pool.purge(share_id)
        self.assertEqual(
            {
                (False, False, False): None,
                (False, False, True): 'old',
                (False, True, False): None,
                (False, True, True): 'draft',
                (True, False, False): 'share',
                (True, False, True): 'share',
                (True, True, False): 'share',
                (True, True, True): 'share',
            },
            outcomes,
        )
        self.assertEqual([], self.names())

    def test_interrupted_delete_does_not_restore_the_share(self):
        self.pool.create('doomed', 1)
        self.pool.discard('doomed')
        self.pool.recover('doomed')
        self.assertFalse(self.pool.share('doomed').exists())
        self.pool.discard('doomed')
        self.pool.purge('doomed')
        self.assertEqual([], self.names())

    def test_clone_of_a_missing_snapshot_fails_and_leaves_nothing(self):
        self.assertRaises(errors.Final, self.pool.clone, 'clone', 'no-snapshot', 1)
        self.assertEqual([], self.names())

    def test_snapshots_are_read_only_and_clones_are_writable(self):
        self.pool.create('source', 1)
        (self.pool.share('source') / 'f').write_text('old')
        self.pool.take_snapshot('snap', 'source')
        (self.pool.share('source') / 'f').write_text('new')
        self.pool.take_snapshot('snap', 'source')
        self.assertEqual('old', (self.pool.snapshot('snap') / 'f').read_text())
        self.assertRaises(OSError, (self.pool.snapshot('snap') / 'f').write_text, 'no')
        self.pool.clone('clone', 'snap', 1)
        self.assertEqual(1 << 30, btrfs.limit_of(self.pool.root, self.pool.share('clone')))
        (self.pool.share('clone') / 'f').write_text('mine')
        for resource_id in ('source', 'clone'):
            self.pool.discard(resource_id)
            self.pool.purge(resource_id)
        self.pool.delete_snapshot('snap')
        self.pool.delete_snapshot('snap')
        self.assertEqual([], self.names())

    def test_opening_a_pool_twice_mounts_it_once(self):
        self.pool.open()
        self.assertEqual(1, Path('/proc/self/mountinfo').read_text().count(f' {self.pool.root} '))


class Plain(testtools.TestCase):
    """A pool that is a plain directory."""

    def test_repeated_delete_succeeds(self):
        root = Path(tempfile.mkdtemp(prefix='ml-pool-'))
        self.addCleanup(shutil.rmtree, root, ignore_errors=True)
        pool = directory.Directory(root)
        pool.open()
        for steps in ((pool.discard, pool.purge), (pool.discard, pool.discard, pool.purge, pool.purge)):
            pool.create('share', 1)
            pool.create('share', 1)
            (pool.share('share') / 'f').write_text('x')
            for step in steps:
                step('share')
            self.assertEqual([], list((root / 'shares').iterdir()))
