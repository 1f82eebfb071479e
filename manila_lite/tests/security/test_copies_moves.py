# SPDX-License-Identifier: Apache-2.0
"""Shares that this host copies to another backend, while their owner tries to lead the copy elsewhere, or to no end."""

import os

from manila_lite.host import trees
from manila_lite.host_copy import rsync
from manila_lite.tests.functional.linux import copying
from manila_lite.tests.security import tenant

_ROUNDS = 4
_BROKEN = 'The copy broke 5 times.'


class Moves(copying.MoveTest):
    def setUp(self):
        super().setUp()
        self.outside = tenant.Outside(self.state / 'outside')

    def options(self):
        return {
            'check_hash': True,
            'data_check_sample': 0,
            'data_copy_bandwidth_limit': 0.0,
            'data_copy_apparent_ratio': 0.25,
        }

    def made_shares(self):
        """Return plain directories."""
        found = self.state / 'served' / 'source', self.state / 'served' / 'target'
        for place in found:
            place.mkdir(parents=True)
        return found

    def test_every_kind_of_file_is_copied_and_compared(self):
        tenant.plant(self.source, self.outside.place)
        before = tenant.tree(self.source)
        self.assertEqual({}, self.ends(self.moves.copy).messages.failed)
        self.assertEqual(before, tenant.tree(self.target))
        self.assertEqual([], self.ends(self.moves.compare).messages.differing)
        self.assertTrue(self.outside.is_untouched())

    def test_both_mounts_disallow_programs_and_devices(self):
        self.ends(self.moves.copy)
        for place in self.moves.mount_points('target'):
            flags = os.statvfs(place).f_flag
            self.assertTrue(flags & os.ST_NOSUID and flags & os.ST_NODEV and flags & os.ST_NOEXEC, place)
        self.assertTrue(os.statvfs(self.moves.mount_points('target')[0]).f_flag & os.ST_RDONLY)
        self.moves.clear('target')
        self.assertEqual([], list(self.moves.folder.iterdir()))

    def test_directory_swapped_for_a_link_during_passes_leaks_nothing(self):
        (self.source / 'd').mkdir()
        for number in range(60):
            (self.source / 'd' / f'f{number}').write_text('harmless')
        (self.source / 'link').symlink_to(self.outside.place)
        with tenant.swapping(self.source / 'd', self.source / 'link'):
            for _ in range(_ROUNDS):
                result = self.ends(self.moves.copy)
                if isinstance(result, str):
                    self.assertTrue(result.startswith(_BROKEN), result)
                self.assertEqual([], self.outside.leaked(self.target))
        self.assertTrue(self.outside.is_untouched())

    def test_hard_links_that_part_between_passes_do_not_share_content(self):
        (self.source / 'one').write_text('same')
        os.link(self.source / 'one', self.source / 'two')
        self.ends(self.moves.copy)
        (self.source / 'two').unlink()
        (self.source / 'two').write_text('other')
        self.ends(self.moves.copy)
        self.assertEqual(['same', 'other'], [(self.target / name).read_text() for name in ('one', 'two')])

    def test_ten_thousand_nested_directories_are_refused(self):
        tenant.nest(self.source, 10000)
        self.addCleanup(trees.remove, self.source.parent)
        self.assertIn('nested too deeply', self.ends(self.moves.copy))

    def test_huge_sparse_file_is_refused(self):
        with (self.source / 'sparse').open('wb') as file:
            file.truncate(8 << 40)
        self.assertIn('more than 0.25 times the share', self.ends(self.moves.copy))

    def test_pass_ends_when_a_file_becomes_a_pipe(self):
        for number in range(200):
            (self.source / f'f{number}').write_text('x' * 1000)
        os.mkfifo(self.source / 'pipe')
        self.patch(rsync, '_STILL', 0.5)  # seconds, in place of ten minutes
        with tenant.swapping(self.source / 'f199', self.source / 'pipe'):
            for _ in range(_ROUNDS):
                result = self.ends(self.moves.copy)
                if isinstance(result, str):
                    self.assertTrue(result.startswith(_BROKEN), result)
