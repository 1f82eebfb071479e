# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import fixtures
import testtools

from manila_lite.drivers.linux.pool import btrfs
from manila_lite.drivers.linux.replication import transfer_folder
from manila_lite.host.commands import CommandFailed


class NamesTest(testtools.TestCase):
    def test_number_is_read_back_from_its_name(self):
        self.assertEqual(12, transfer_folder.number_of('a.b', transfer_folder.taken('a.b', 12)))
        for name in (transfer_folder.taken('a', 1), '+a.b', 'a.b.1', '+a.b.x', '=+a.b.1'):
            self.assertEqual(0, transfer_folder.number_of('a.b', name))


class ReceivedTest(testtools.TestCase):
    """Received shares, with directories in place of subvolumes: functional/linux tests btrfs."""

    def setUp(self):
        super().setUp()
        self.received = transfer_folder.Received(Path(self.useFixture(fixtures.TempDir()).path), 'm')
        self.received.make()
        self.writable = set()
        self.patch(btrfs, 'delete', lambda place: place.rmdir() if place.exists() else None)
        self.patch(btrfs, 'subvolume_id', lambda place: int(place.name.rpartition('.')[2]))
        self.patch(btrfs, 'is_read_only', lambda place: place.name not in self.writable)

    def come(self, *names):
        for name in names:
            (self.received.path / name).mkdir()

    def test_all_but_the_last_subvolume_of_a_broken_stream_are_whole(self):
        self.come('+s.10', '+s.9', '+s.11')
        self.received.settle(ended_well=False)
        self.assertEqual({'+s.9', '+s.10'}, self.received.whole())
        self.assertEqual({'=+s.9', '=+s.10'}, self.received.names())

    def test_read_only_subvolumes_of_a_complete_stream_are_whole(self):
        self.come('+s.1', '+s.2')
        self.writable = {'+s.1'}
        self.received.settle(ended_well=True)
        self.assertEqual({'+s.2'}, self.received.whole())
        self.assertTrue(self.received.at('+s.2').exists())

    def test_forgotten_and_cleared_subvolumes_are_deleted(self):
        self.come('+s.1', '+s.2')
        self.received.settle(ended_well=True)
        self.received.forget(['+s.1', '+s.7'])
        self.assertEqual({'+s.2'}, self.received.whole())
        for _ in range(2):
            self.received.clear()
            self.assertFalse(self.received.path.exists())
        self.assertEqual(set(), self.received.whole())

    def test_second_receiver_is_refused(self):
        self.patch(transfer_folder, '_PATIENCE', 0.1)
        with self.received.exclusive(), testtools.ExpectedException(CommandFailed, '.*another process.*'):
            self.received.exclusive().__enter__()
        with self.received.exclusive() as lock:
            self.assertGreater(lock, 2)
