# SPDX-License-Identifier: Apache-2.0
"""Shares are copied between pools by the kernel's streams, as in migration and replication, against their owner's attacks."""

import os

from manila_lite import errors
from manila_lite.drivers.linux.replication import replication
from manila_lite.host.commands import CommandFailed, run
from manila_lite.tests.functional.linux import copying
from manila_lite.tests.security import tenant

_MIB = 1 << 20


class Streams(copying.StreamTest):
    """The share ``s`` of one pool is copied to another."""

    def setUp(self):
        super().setUp()
        self.outside = tenant.Outside(self.state / 'outside')

    def test_every_kind_of_file_is_copied(self):
        tenant.plant(self.share, self.outside.place)
        self.round()
        self.assertEqual(tenant.tree(self.share), tenant.tree(self.landed()))
        self.assertTrue(self.outside.is_untouched())

    def test_directory_swapped_for_a_link_during_the_copy_leaks_nothing(self):
        (self.share / 'd').mkdir()
        (self.share / 'link').symlink_to(self.outside.place)
        with tenant.swapping(self.share / 'd', self.share / 'link'):
            for number in range(60):
                (self.share / f'f{number}').write_text('harmless')
                if number % 15 == 0:
                    self.round()
        self.round()
        place = self.landed()
        self.assertEqual(tenant.tree(self.share), tenant.tree(place))
        self.assertEqual([], self.outside.leaked(place))
        self.assertTrue(self.outside.is_untouched())

    def test_holes_are_not_copied_as_zeros(self):
        """A stream of the kernel has zeros for a hole that was data before, up to the next data: possibly a terabyte away."""
        with (self.share / 'sparse').open('wb') as file:
            file.truncate(1 << 40)
            file.seek(1 << 39)
            file.write(b'x' * 4096)
        self.round()
        for size in (1 << 39, 1 << 40):
            os.truncate(self.share / 'sparse', size)
        (self.share / 'good').write_text('data')
        before = self.pool.capacity()[1]
        self.assertLess(self.round(), _MIB)
        # The file system allocates for itself in chunks of an eighth of a GiB; the zeros would fill the pool.
        self.assertLess(before - self.pool.capacity()[1], 1)
        place = self.landed()
        self.assertEqual(
            (1 << 40, 0), ((place / 'sparse').stat().st_size, (place / 'sparse').stat().st_blocks)
        )
        self.assertEqual('data', (place / 'good').read_text())
        self.assertEqual(
            set(), {path.name for path in (self.pool.root / 'moving' / 'm').iterdir()} - {'lock', '=+s.3'}
        )

    def test_copy_larger_than_the_free_space_is_refused(self):
        (self.share / 'big').write_bytes(os.urandom(64 * _MIB))
        self.patch(replication, '_ROOM', 0.01)  # of 4 GiB
        self.assertIn('there is room for', str(self.assertRaises(replication.TooMuch, self.round)))
        self.assertTrue(issubclass(replication.TooMuch, errors.Final))
        self.assertEqual(set(), self.copy._received.whole())

    def test_copy_fails_until_too_deep_directories_are_removed(self):
        (self.share / 'good').write_text('data')
        self.round()
        tenant.nest(self.share, 30, 'd' * 200)
        self.assertRaises(CommandFailed, self.round)
        run('find', str(self.share), '-mindepth', '1', '-not', '-name', 'good', '-delete')
        self.round()
        self.assertEqual(['good'], os.listdir(self.landed()))
