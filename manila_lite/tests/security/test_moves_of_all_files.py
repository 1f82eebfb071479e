# SPDX-License-Identifier: Apache-2.0
"""No file that a client can make blocks a move by the host: each kind is copied, changed, copied again and compared; or the
move is refused before anything is copied, with the path.
"""

import os
import socket

from manila_lite.host import trees
from manila_lite.tests.factories import files, kept
from manila_lite.tests.functional.linux import copying, test_host_assisted
from manila_lite.tests.security import tenant


class Moved(test_host_assisted.HostAssisted):
    """Moves through the API, in which clients may write until the cut-over."""

    def moved(self, *lines):
        """Move a share in which everything changes between two passes. One change leaves size and time as they were."""
        self.config('[beta]', 'migration_keep_writable = true', '[DEFAULT]', *lines)
        share = self.granted()
        place = self.place('alpha', share)
        files.plant(place)
        for number in range(50):  # not in plant(): an ext4 with backups could not keep so many
            os.setxattr(place / 'sub', f'user.{number}', os.urandom(300))
        self.start(share)
        self.task_is(share, test_host_assisted.READY)
        files.spoil(place)
        before = kept.look(place)
        self.complete(share)
        self.has_moved(share)
        after = kept.look(self.place('beta', share))
        self.assertEqual(
            {},
            {
                what: kept.differences(before[what], after[what])[:3]
                for what in kept.lost(before, after) - kept.DROPS['host']
            },
        )

    def test_share_moves_with_every_kind_of_file_and_their_changes(self):
        self.moved('check_hash = true')

    def test_change_that_only_a_sample_finds_is_copied(self):
        self.moved('data_check_sample = 1000')


class SpecialFiles(copying.MoveTest):
    """Device nodes and sockets whose modes change between two passes."""

    def alike(self):
        self.assertEqual(*(kept.look(place)['modes'] for place in (self.source, self.target)))
        self.assertEqual([], self.ends(self.moves.compare).messages.differing)

    def test_modes_of_many_sockets_and_devices_follow(self):
        (self.source / 'do_chmod: no symlink-safe chmod for "x"; mode not set').touch()
        (self.source / 'deep' / '-rf').mkdir(parents=True)
        for number in range(600):
            os.mknod(self.source / 'deep' / '-rf' / f'{number}\n', 0o140600)
        os.mknod(self.source / 'zero', 0o20600, os.makedev(1, 5))
        self.ends(self.moves.copy)
        for number in range(600):
            (self.source / 'deep' / '-rf' / f'{number}\n').chmod(0o4000 + number % 300)
        (self.source / 'zero').chmod(0o7777)
        self.ends(self.moves.copy)
        self.alike()

    def test_setuid_socket_of_another_user_and_device_under_a_default_acl_arrive_in_one_pass(self):
        files.let_new_files_inherit(self.source, 1234)
        os.mknod(self.source / 'sock', 0o140600)
        os.mknod(self.source / 'null', 0o20600, os.makedev(1, 3))
        os.chown(self.source / 'sock', 1234, 5678)
        (self.source / 'sock').chmod(0o4666)
        (self.source / 'null').chmod(0o622)
        self.ends(self.moves.copy)
        self.alike()

    def test_socket_is_replaced_by_another_kind_and_back(self):
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(str(self.source / 'sock'))
        self.ends(self.moves.copy)
        (self.source / 'sock').unlink()
        (self.source / 'sock').mkdir(mode=0o700)
        os.mknod(self.source / 'sock' / 'null', 0o20666, os.makedev(1, 3))
        self.ends(self.moves.copy)
        self.alike()


class Refused(copying.MoveTest):
    """Files that no pass can copy."""

    def refuses(self, why, path):
        (self.source / 'other').write_text('of the share')
        said = self.ends(self.moves.copy)
        self.assertIn(why, said)
        self.assertIn(f'Not copied: {path}', said)
        self.assertEqual([], os.listdir(self.target), 'nothing was copied')

    def test_directories_that_are_nested_too_deeply(self):
        tenant.nest(self.source, 2500)
        self.addCleanup(trees.remove, self.source / 'd')
        self.refuses('nested too deeply', 'd/d/d/')

    def test_path_that_is_too_long(self):
        tenant.nest(self.source, 16, 'y' * 255)  # with the name of the file in it
        self.addCleanup(trees.remove, self.source / ('y' * 255))
        self.refuses('have too long a path', 'yyy')
