# SPDX-License-Identifier: Apache-2.0
"""A file that cannot be read or written makes each way of copying fail, and leaves the other side as it was."""

import os
import subprocess

from manila_lite import errors
from manila_lite.drivers.linux.replication import copy_supervisor
from manila_lite.host.commands import CommandFailed
from manila_lite.host_copy import rsync
from manila_lite.tests import waiting
from manila_lite.tests.factories import kept
from manila_lite.tests.functional.linux import copying

_UNREADABLE = 'The copy broke 5 times. Not copied: bad (Input/output error).'
_REFUSED = 'The copy broke 5 times. Not copied: bad (Operation not permitted).'


def _fill(place):
    (place / 'bad').write_bytes(os.urandom(100_000))
    for name in ('a', 'z'):
        (place / name).write_text(name)


class Immutable:
    """Mixin: files that nobody may change or replace."""

    def freeze(self, path):
        subprocess.run(('chattr', '+i', path), check=True)
        self.addCleanup(subprocess.run, ('chattr', '-i', path), stderr=subprocess.DEVNULL)


class Backups(copying.BackupTest, Immutable):
    def setUp(self):
        super().setUp()
        self.place = self.at(self.mine)
        _fill(self.place)
        # Backups are on a btrfs, too, whose files can be damaged.
        self.export = self.driver.parts.pool.root / 'export'
        self.export.mkdir(exist_ok=True)
        self.first = self.backup()
        self.assertEqual('', self.ends('create', self.mine, self.first))
        self.saved, self.served = kept.look(self.kept(self.first)), kept.look(self.place)
        self.copies_of_mounts = copying.MountedCopies(self.folder, self.at)

    def ways(self):
        """Yield for each way to copy, which is in force meanwhile."""
        for copies in (self.driver, self.copies_of_mounts):
            self.copies = copies
            yield

    def damage(self, path):
        copying.break_on_disk(self.state / self.POOL, path)

    def backup_fails(self, why, second):
        self.assertEqual(why, self.ends('create', self.mine, second))
        self.assertEqual(set(), kept.lost(self.saved, kept.look(self.kept(self.first))))
        self.copies.delete_backup(second)
        self.assertFalse(self.kept(second).exists())

    def test_backup_of_a_file_that_cannot_be_read_fails(self):
        self.damage(self.place / 'bad')
        for _ in self.ways():
            self.backup_fails(_UNREADABLE, self.backup())
        self.assertEqual('', self.ends('restore', self.mine, self.first))
        self.assertEqual(self.served['content'], kept.look(self.at(self.mine))['content'])

    def test_backup_to_where_a_file_cannot_be_written_fails(self):
        for _ in self.ways():
            second = self.backup()
            self.kept(second).mkdir()
            (self.kept(second) / 'bad').touch()
            self.freeze(self.kept(second) / 'bad')
            self.assertEqual(_REFUSED, self.ends('create', self.mine, second))
            subprocess.run(('chattr', '-i', self.kept(second) / 'bad'), check=True)
            self.assertEqual('', self.ends('create', self.mine, second))
            self.assertEqual(set(), kept.lost(self.saved, kept.look(self.kept(second))) - kept.DROPS['host'])

    def test_restore_of_a_file_that_cannot_be_read_leaves_the_share(self):
        (self.place / 'bad').write_text('newer')
        self.served = kept.look(self.place)
        self.damage(self.kept(self.first) / 'bad')
        self.assertEqual(_UNREADABLE, self.ends('restore', self.mine, self.first))
        self.assertEqual(set(), kept.lost(self.served, kept.look(self.at(self.mine))))
        # This one writes to the share itself, and what could not be read must not look alike the next time.
        self.copies = self.copies_of_mounts
        for _ in range(2):
            self.assertEqual(_UNREADABLE, self.ends('restore', self.mine, self.first))

    def test_restore_over_a_file_that_cannot_be_written_leaves_the_share(self):
        (self.place / 'bad').write_text('newer')
        self.freeze(self.place / 'bad')
        self.served = kept.look(self.place)
        for _ in self.ways():
            self.assertEqual(_REFUSED, self.ends('restore', self.mine, self.first))
            self.assertEqual(set(), kept.lost(self.served, kept.look(self.at(self.mine))))


class Moves(copying.MoveTest, Immutable):
    def setUp(self):
        super().setUp()
        _fill(self.source)

    def test_move_of_a_file_that_cannot_be_read_fails(self):
        copying.break_on_disk(self.state / 'pool.img', self.source / 'bad')
        self.assertEqual(_UNREADABLE, self.ends(self.moves.copy))

    def test_move_over_a_file_that_cannot_be_written_fails(self):
        self.ends(self.moves.copy)
        (self.source / 'bad').write_text('newer')
        self.freeze(self.target / 'bad')
        before = kept.look(self.source)
        self.assertEqual(_REFUSED, self.ends(self.moves.copy))
        self.assertEqual(set(), kept.lost(before, kept.look(self.source)))

    def test_comparison_of_a_file_that_cannot_be_read_fails(self):
        self.ends(self.moves.copy)
        copying.break_on_disk(self.state / 'pool.img', self.target / 'bad')
        self.assertEqual(['bad'], self.ends(self.moves.compare_some).messages.differing)

    def test_file_that_a_client_deletes_during_a_pass_is_no_failure(self):
        (self.source / 'bad').write_bytes(os.urandom(8 << 20))
        copy = rsync.Copy(self.source, self.target, rsync.SAME, *rsync.at_rate(4))
        waiting.until(
            lambda: list(self.target.glob('.bad.*')), 'the list is made, and the first file on its way'
        )
        (self.source / 'z').unlink()
        copy.join()
        self.assertIsNone(copy.error)
        self.assertEqual(['a', 'bad'], sorted(os.listdir(self.target)))


class Streams(copying.StreamTest):
    """Migrations by the driver and replicas."""

    def setUp(self):
        super().setUp()
        _fill(self.share)

    def damage(self):
        copying.break_on_disk(self.state / 'origin.img', self.share / 'bad')

    def test_round_with_a_file_that_cannot_be_read_fails_and_keeps_the_one_before(self):
        self.round()
        before = self.copy._received.whole()
        self.damage()
        self.assertIn('Input/output error', str(self.assertRaises(CommandFailed, self.round)))
        self.assertEqual(before, self.copy._received.whole())
        (self.share / 'bad').unlink()
        self.round()
        self.assertEqual({'a', 'z'}, set(os.listdir(self.landed())))

    def test_migration_of_a_file_that_cannot_be_read_is_given_up(self):
        self.damage()
        supervisor = copy_supervisor.CopySupervisor()
        self.addCleanup(supervisor.end_all)

        def given_up():
            try:
                supervisor.poll('m', lambda: self.copy)
            except errors.Final as bad:
                return str(bad)
            return ''

        self.assertEqual(
            'The copy broke 5 times at the same place: a file cannot be read (input/output error); the log of the '
            'kernel at the source says which.',
            waiting.until(given_up, 'it is given up'),
        )
        self.assertEqual('a', (self.share / 'a').read_text())
