# SPDX-License-Identifier: Apache-2.0
"""Copies: begin, halt and removal; and the message of a mount that fails."""

import tempfile
from pathlib import Path

import fixtures
import testtools

from manila_lite import values
from manila_lite.drivers.backups import backup_jobs
from manila_lite.host.commands import CommandFailed
from manila_lite.host_copy import copies
from manila_lite.tests import waiting


class Failed(testtools.TestCase):
    def test_error_of_a_failed_mount_hides_its_options(self):
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder, 'place')
            bad = self.assertRaises(
                CommandFailed,
                backup_jobs.BackupJobs.mount,
                '/no/such/place',
                place,
                'none',
                'bind,password=sesame',
            )
            self.assertNotIn('sesame', str(bad))
            self.assertIn('/no/such/place', str(bad))
            self.assertIsNone(bad.__cause__)
            copies.unmount(place)
            self.assertFalse(place.exists())


class Folders(backup_jobs.BackupJobs):
    """Copies between folders, which need no mount."""

    def readable(self, share, backup):
        return self.folder.parent / 'share'

    writable = readable

    def _folder_of(self, backup, *, make=False):
        return self.folder.parent / 'kept'

    def unmount(self, place):
        """Do nothing: nothing is mounted."""


class Halted(testtools.TestCase):
    def setUp(self):
        super().setUp()
        state = Path(self.useFixture(fixtures.TempDir()).path)
        for name in ('share', 'kept'):
            (state / name).mkdir()
        (state / 'share' / 'f').write_text('hello')
        self.share = values.Share('s', 's', 'p', 1, 'NFS', 'pool')
        self.copies, self.backup = (
            Folders(state),
            values.Backup('b', 1, values.BackupType('nightly'), 'h@b', 'p'),
        )

    def complete(self):
        waiting.until(
            lambda: self.copies.make(self.share, self.backup) >= 100, 'the copy is complete', pause=0.01
        )

    def test_halted_copies_do_not_begin_until_resumed(self):
        self.copies.halt()
        self.assertRaises(CommandFailed, self.copies.make, self.share, self.backup)
        self.assertEqual((False, frozenset()), (self.copies.is_copying(self.backup), self.copies.left()))
        self.copies.resume()
        self.complete()
        self.assertEqual(frozenset({'b'}), self.copies.left())
        self.assertTrue(self.copies.is_copying(self.backup))
        self.copies.halt()
        self.assertFalse(self.copies.is_copying(self.backup))

    def test_cleared_copy_is_removed(self):
        self.complete()
        self.copies.clear('b')
        self.assertEqual((False, frozenset()), (self.copies.is_copying(self.backup), self.copies.left()))

    def test_left_returns_only_valid_backup_ids(self):
        self.copies.folder.mkdir()
        for name in ('b', 'b.share', '.hidden', 'no space'):
            (self.copies.folder / name).mkdir()
        self.assertEqual(frozenset({'b'}), self.copies.left())
