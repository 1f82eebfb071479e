# SPDX-License-Identifier: Apache-2.0
"""What is kept of files by each way of copying: one set of files, and one table (``factories/kept.py``)."""

import testtools
from oslo_utils import uuidutils

from manila_lite import values
from manila_lite.tests.factories import files, kept
from manila_lite.tests.functional.linux import copying


class Kept(testtools.TestCase):
    """Comparisons by the table."""

    def assert_kept(self, way, before, place):
        """Check that the copy lacks what the table says, and nothing else."""
        after = kept.look(place)
        self.assertEqual(
            {},
            {
                what: kept.differences(before[what], after[what])[:3]
                for what in kept.lost(before, after) - kept.DROPS[way]
            },
            'lost, and not in the table',
        )
        self.assertEqual(kept.DROPS[way], kept.lost(before, after), 'kept, and in the table as lost')


class OfDriver(copying.BackupTest, Kept):
    """Calls of the driver with one pool: snapshots and backups."""

    def setUp(self):
        super().setUp()
        self.place = self.at(self.mine)
        files.plant(self.place)
        self.before = kept.look(self.place)

    def test_a_share_from_a_snapshot_and_a_revert(self):
        snapshot = values.Snapshot(uuidutils.generate_uuid(), self.mine, 1)
        self.driver.create_snapshot(snapshot)
        self.addCleanup(self.driver.delete_snapshot, snapshot)
        files.spoil(self.place)
        other = values.Share(uuidutils.generate_uuid(), 's', 'p', 1, 'NFS', 'pool')
        self.driver.create_share_from_snapshot(other, snapshot)
        self.addCleanup(self.driver.delete_share, other)
        self.assert_kept('snapshot', self.before, self.at(other))
        self.driver.revert_to_snapshot(snapshot)
        self.assert_kept('snapshot', self.before, self.place)

    def test_backups_by_the_driver(self):
        self.restored_here_and_elsewhere()

    def test_backups_over_nfs(self):
        self.copies = copying.MountedCopies(self.folder, self.at)
        self.restored_here_and_elsewhere()

    def restored_here_and_elsewhere(self):
        backup = self.backup()
        self.assertEqual('', self.ends('create', self.mine, backup))
        self.assert_kept('host', self.before, self.kept(backup))
        files.spoil(self.place)
        for share in (self.mine, self.share()):
            self.assertEqual('', self.ends('restore', share, backup))
            # A file that a restore overwrites in place may have what another copy lacks.
            self.assertEqual(set(), kept.lost(self.before, kept.look(self.at(share))) - kept.DROPS['host'])


class ByHost(copying.MoveTest, Kept):
    def copied(self):
        self.assertEqual({}, self.ends(self.moves.copy).messages.failed)

    def test_a_move_and_a_later_pass(self):
        files.plant(self.source)
        self.copied()
        self.assert_kept('host', kept.look(self.source), self.target)
        files.spoil(self.source)
        (self.source / 'same').write_text('longer than before')
        self.copied()
        self.assert_kept('host', kept.look(self.source), self.target)
        for compare in (self.moves.compare, self.moves.compare_some):
            self.assertEqual([], self.ends(compare).messages.differing)

    def test_a_comparison_finds_what_another_writer_changed(self):
        files.plant(self.source)
        self.copied()
        files.spoil(self.target)
        self.assertGreater(len(self.ends(self.moves.compare).messages.differing), 9)


class ByStream(copying.StreamTest, Kept):
    """Everything, and then changes."""

    SNAPSHOTS = ('taken',)

    def test_a_share_and_its_snapshot(self):
        files.plant(self.share)
        self.origin.take_snapshot('taken', 's')
        before = kept.look(self.share)
        self.round()
        files.spoil(self.share)
        (self.share / 'new').write_text('after the first round')
        self.round()
        self.landed()
        self.assert_kept('driver', before, self.pool.snapshot('taken'))
        self.assert_kept('driver', kept.look(self.share), self.pool.share('s'))

    def test_acl_that_new_files_inherit_comes_later_changes_and_goes(self):
        self.origin.take_snapshot('taken', 's')
        self.round()
        files.plant(self.share)
        for user in (1234, 5678, None):
            files.let_new_files_inherit(self.share, user)
            (self.share / f'of {user}').write_text('new in this round')
            self.round()
        self.assert_kept('driver', kept.look(self.share), self.landed())
