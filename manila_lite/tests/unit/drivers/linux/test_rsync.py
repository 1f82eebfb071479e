# SPDX-License-Identifier: Apache-2.0
"""How far a copy is, by what rsync says; and that it ends."""

import tempfile
from pathlib import Path

import testtools

from manila_lite.drivers.linux import rsync


class Said(testtools.TestCase):

    def test_percent(self):
        for said, percent in ((b'', 0), (b'    1,024  12%  3.45MB/s    0:00:01\r', 12), (b'1 7%\r 2 31% 1MB/s\r', 31),
                              (b' 9 100% 1MB/s (xfr#1, to-chk=0/2)\n', 99), (b'cut 5', 0), (b'x% y', 0)):
            self.assertEqual(percent, rsync._percent(said), said)

    def test_last_words(self):
        said = b' 1 7%\rrsync: [receiver] write failed\nmore\nrsync error: some files (code 23)\n'
        self.assertEqual('rsync: [receiver] write failed; rsync error: some files (code 23)', rsync._last_words(said))
        self.assertEqual('it failed', rsync._last_words(b''))

    def test_what_cannot_be_kept(self):
        gone = b'failed: Operation not supported (95)\n'
        for said, unkept in ((b'rsync: [receiver] rsync_xal_set: fsetxattr("/a/b c","user.d") ' + gone, True),
                             (b' 1 7%\rrsync: [generator] set_acl: xacl_set(b, ACL_TYPE_ACCESS): ' + gone + b' 2 8%\r', True),
                             (b'rsync: [sender] send_files failed to open "/set_acl: (95)": Permission denied (13)\n', False),
                             (b'rsync: [receiver] rsync_xal_set: lsetxattr("/a","user.d") failed: No space (28)\n', False)):
            self.assertEqual(unkept, rsync._UNKEPT.search(said) is not None, said)


class Ends(testtools.TestCase):

    def copy(self, source, target):
        copy = rsync.Copy(source, target, '--checksum')
        copy.join(120)
        self.assertFalse(copy.is_alive())
        return copy

    def test_copied(self):
        with tempfile.TemporaryDirectory() as folder:
            source, target = Path(folder, 'source'), Path(folder, 'target')
            for place, name in ((source, 'a'), (target, 'b')):
                place.mkdir()
                (place / name).write_text(name)
            self.assertIsNone(self.copy(source, target).error)
            self.assertEqual(['a'], [place.name for place in target.iterdir()])

    def test_failed(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertIn('rsync', str(self.copy(Path(folder, 'nothing'), Path(folder, 'target')).error))

    def test_stopped(self):
        with tempfile.TemporaryDirectory() as folder:
            copy = rsync.Copy(Path(folder), Path(folder, 'target'), '--checksum')
            copy.stop()
            self.assertFalse(copy.is_alive())
