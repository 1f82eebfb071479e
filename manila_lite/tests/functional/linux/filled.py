# SPDX-License-Identifier: Apache-2.0
"""Shares with files of all kinds, and their comparison with a copy."""

import contextlib
import os

from manila_lite.tests.functional.linux import base


def fill_up(filler):
    """Fill the file system with a new file, down to its last blocks."""
    with filler.open('wb') as file:
        for size in (64 << 20, 1 << 20, 4096):
            with contextlib.suppress(OSError):
                while True:
                    os.posix_fallocate(file.fileno(), file.seek(0, os.SEEK_END), size)


class Filled:
    """Mixin of tests whose backends keep their files below ``self.state``."""

    #: Extended attributes that a copy keeps.
    ATTRIBUTES = ('user.colour',)
    #: Whether the number of blocks of a file tells of its holes.
    TELLS_OF_HOLES = True

    def place(self, backend, share):
        """Return the directory of a share's files."""
        [instance] = self.lite.ok('GET', f'/shares/{share}/instances')['share_instances']
        folder = self.state / ('folder' if backend == 'plain' else f'lib/{backend}/pool')
        return folder / 'shares' / instance['id']

    def fill(self, place):
        """Put files of all kinds into the directory. Return a copy of the directory."""
        (place / 'sub').mkdir()
        (place / 'sub' / 'random').write_bytes(os.urandom(3_000_000))
        os.link(place / 'sub' / 'random', place / 'linked')
        os.symlink('sub/random', place / 'pointer')
        with (place / 'sparse').open('wb') as file:
            file.truncate(64 << 20)
        (place / 'odd \n name').write_text('odd')
        os.chown(place / 'odd \n name', 1234, 5678)
        (place / 'same').write_text('before')
        os.setxattr(place / 'same', 'user.colour', b'blue')
        copy = self.state / f'copy-{place.name}'
        base.command('cp', '-a', str(place), str(copy))
        return copy

    def spoil(self, place):
        """Change everything in the directory; some files look unchanged."""
        was = os.stat(place / 'same')
        (place / 'same').write_text('behind')
        os.utime(place / 'same', ns=(was.st_atime_ns, was.st_mtime_ns))
        (place / 'linked').unlink()
        (place / 'sub' / 'random').write_bytes(b'short')
        (place / 'odd \n name').rename(place / 'more')

    def assert_as(self, copy, place):
        base.command('diff', '-r', '--no-dereference', str(copy), str(place))
        self.assertEqual(self.ATTRIBUTES, tuple(os.listxattr(place / 'same')))
        self.assertEqual(2, os.stat(place / 'linked').st_nlink)
        self.assertEqual(
            (1234, 5678), (os.stat(place / 'odd \n name').st_uid, os.stat(place / 'odd \n name').st_gid)
        )
        if self.TELLS_OF_HOLES:
            self.assertLess(os.stat(place / 'sparse').st_blocks, 1000)
        self.assertEqual(oct(os.stat(copy).st_mode), oct(os.stat(place).st_mode))
