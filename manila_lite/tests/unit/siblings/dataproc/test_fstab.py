# SPDX-License-Identifier: Apache-2.0
"""Lines of fstab: ours are added and removed, others stay, with any characters in a path."""

import testtools
from hypothesis import given, settings
from hypothesis import strategies as st

from manila_lite.siblings.dataproc.handlers import fstab
from manila_lite.siblings.dataproc.interface import Mount
from manila_lite.siblings.nfs import table

_PATHS = st.text(st.characters(blacklist_characters='\0', blacklist_categories=['Cs']), min_size=1).map(
    lambda text: f'/{text}'
)
_OTHERS = st.binary().filter(lambda text: b'# mlite ' not in text)
SHARE = '4b0e1f0a-4c77-4d9a-a1c7-0a2f6e0b0a01'


def mount(path, export='10.0.0.5:/shares/a', level='rw'):
    return Mount(SHARE, export, path, level)


class Fstab(testtools.TestCase):
    def test_line_has_the_fields_of_an_nfs_mount(self):
        self.assertEqual(
            b'[fd00::5]:/shares/a /mnt/a\\040b nfs ro,vers=4.2,hard,_netdev,nofail 0 0 # mlite '
            + SHARE.encode()
            + b'\n',
            fstab.line(mount('/mnt/a b', '[fd00::5]:/shares/a', 'ro'), 'vers=4.2,hard'),
        )

    @settings(deadline=None, database=None)
    @given(_PATHS)
    def test_escaped_path_is_read_back_unchanged(self, path):
        line = fstab.line(mount(path), 'vers=4.2')
        self.assertEqual(1, line.count(b'\n'))
        # The kernel's table of mounts has the same escapes.
        rows = table(line.decode().removesuffix('\n'))
        self.assertEqual([path], [row.path for row in rows])

    @settings(deadline=None, database=None)
    @given(_OTHERS, _PATHS, _PATHS)
    def test_only_own_lines_are_added_and_removed(self, others, path, second):
        once = fstab.with_line(others, mount(path), 'vers=4.2')
        self.assertTrue(fstab.has(once, path))
        self.assertEqual(once, fstab.with_line(once, mount(path), 'vers=4.2'))
        changed = fstab.with_line(once, mount(path, level='ro'), 'vers=4.2')
        self.assertEqual(1, changed.count(b'# mlite '))
        both = fstab.with_line(changed, mount(second), 'vers=4.2')
        gone = fstab.without(fstab.without(both, path), second)
        self.assertFalse(fstab.has(gone, path))
        self.assertEqual(others, gone if not others or others.endswith(b'\n') else gone.removesuffix(b'\n'))

    def test_foreign_line_for_the_same_path_is_kept(self):
        others = b'10.0.0.5:/shares/a /mnt/a nfs rw 0 0\n# 10.0.0.5:/x /mnt/a # mlite is good\n'
        self.assertFalse(fstab.has(others, '/mnt/a'))
        self.assertEqual(others, fstab.without(fstab.with_line(others, mount('/mnt/a'), ''), '/mnt/a'))

    def test_line_of_a_longer_path_is_kept(self):
        text = fstab.with_line(b'', mount('/mnt/ab'), '')
        self.assertEqual(text, fstab.without(text, '/mnt/a'))
