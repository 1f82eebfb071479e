# SPDX-License-Identifier: Apache-2.0
"""Progress of a copy, by rsync's output, and its end."""

import tempfile
from pathlib import Path

import testtools

from manila_lite.drivers.data_mover import rsync
from manila_lite.host.commands import CommandFailed
from manila_lite.tests import waiting


class Silent(rsync.Copy):
    """A copy that does not begin."""

    def start(self):
        pass


class Said(testtools.TestCase):

    def test_last_progress_in_the_output_is_returned(self):
        for said, progress in ((b'', (0, 0)), (b'\n    1,024  12%  3.45MB/s    0:00:01\r', (1024, 12)),
                               (b'\r 1 7% 1MB/s\r 2 31% 1MB/s\r', (2, 31)), (b'\n 9 100% 1MB/s (xfr#1, to-chk=0/2)\n', (9, 99)),
                               (b'\ncut 5', (0, 0)), (b'\nx% y', (0, 0)), (b'\nrsync: "/a 999 99% b": no (2)\n', (0, 0))):
            self.assertEqual(progress, rsync._progress(said), said)
        self.assertEqual((1, 40), rsync._progress(b'\r 1 7% 1MB/s', 40))

    def test_error_lines_of_the_output_are_returned_as_the_reason(self):
        said = b' 1 7%\rrsync: [receiver] write failed\nmore\nrsync error: some files (code 23)\n'
        self.assertEqual('rsync: [receiver] write failed; rsync error: some files (code 23)', rsync._last_words(said))
        self.assertEqual('it failed', rsync._last_words(b''))

    def test_error_output_is_mapped_to_its_error_class(self):
        gone = b'failed: Operation not supported (95)\n'
        for said, kinds in (
                (b'rsync: [receiver] rsync_xal_set: fsetxattr("/a/b c","user.d") ' + gone, {rsync.CannotKeepAll}),
                (b' 1 7%\rrsync: [generator] set_acl: xacl_set(b, ACL_TYPE_ACCESS): ' + gone + b' 2\r', {rsync.CannotKeepAll}),
                (b'rsync: [sender] send_files failed to open "/set_acl: (95)": Permission denied (13)\n', set()),
                (b'rsync: [sender] opendir "/source/d/d" failed: Cannot allocate memory (12)\n', {rsync.TooDeep}),
                (b'rsync: [receiver] rsync_xal_set: lsetxattr("/a","user.d") failed: No space (28)\n', {rsync.NoRoom}),
                (b'rsync: [sender] opendir "/source/' + b'd/' * 2000 + b'd" failed: Name too long (36)\n', {rsync.TooDeep}),
                (b'rsync: no end of a line (28)', set()), (b'name: No space (28)\n', set())):
            copy = Silent(Path('/there'), Path('/here'))
            for begin in range(0, len(said), 100):
                copy._hear(said[begin:begin + 100])
            self.assertEqual(kinds, copy._kinds, said)

    def test_paths_of_files_that_failed_are_kept_with_the_reason(self):
        for said, path, why in (
                (b'[sender] send_files failed to open "/source/a/b": Permission denied (13)', 'a/b', 'Permission denied'),
                (b'[receiver] mkstemp "/target/d/.f".x.Ab12Cd" failed: No space left on device (28)', 'd/f".x',
                 'No space left on device'),
                (b'[receiver] rename "/target/.s.Ab12Cd" -> "s": Operation not permitted (1)', 's', 'Operation not permitted'),
                (b'[generator] symlink "/target/l" -> "x": y" failed: File exists (17)', 'l', 'File exists'),
                (b'[sender] readlink_stat("/source/\\#377") failed: Stale file handle (116)', '\\#377', 'Stale file handle')):
            for before in (b'', b'         32,768   1%    0.00kB/s    0:00:00  ',
                           b'              7 100%    2.00MB/s    0:00:00 (xfr#1, to-chk=0/2)'):
                self.assertEqual({path: why}, self.heard(before + b'rsync: ' + said), said)
        for said in (b'rsync error: some files (code 23)', b'rsync: "/etc/f": no (1)', b'"/source/f": Permission denied (13)',
                     b'rsync: [sender] "/source/f" of: no (1)', b'rsync: "/source/f: no (1)', b'rsync: "/source/f": no "(1)'):
            self.assertEqual({}, self.heard(said), said)

    def heard(self, line):
        copy = Silent(Path('/there'), Path('/here'))
        copy._hear(line + b'\n')
        return copy.failed

    def test_copy_with_too_many_errors_ends_with_the_kind_of_the_errors(self):
        """Send whole lines and one without an end: neither gathers in memory."""
        for line, kind in ((b'rsync: [sender] send_files failed to open "/source/a": Permission denied (13)\n', CommandFailed),
                           (b'rsync: [receiver] mkstemp "/target/.a.Ab12Cd" failed: No space left (28)\n', rsync.NoRoom),
                           (b'rsync: ' + b'x' * 1000 + b'\n', CommandFailed)):
            copy = Silent(Path('/there'), Path('/here'))
            copy._hear(line * rsync._ERRORS)
            failed = self.assertRaises(kind, copy._hear, line)
            self.assertIn('rsync: stopped after 1000 errors; the last one: rsync: ', str(failed))
        copy = Silent(Path('/there'), Path('/here'))
        for _ in range(100):
            copy._hear(b'rsync: ' + b'x' * 100000)
            self.assertEqual(rsync._LINE, len(copy._rest))


class Ends(testtools.TestCase):

    def copy(self, source, target):
        copy = rsync.Copy(source, target, '--checksum')
        copy.join(waiting.LIMIT)
        self.assertFalse(copy.is_alive())
        return copy

    def test_target_has_exactly_the_files_of_the_source(self):
        with tempfile.TemporaryDirectory() as folder:
            source, target = Path(folder, 'source'), Path(folder, 'target')
            for place, name in ((source, 'a'), (target, 'b')):
                place.mkdir()
                (place / name).write_text(name)
            self.assertIsNone(self.copy(source, target).error)
            self.assertEqual(['a'], [place.name for place in target.iterdir()])

    def test_a_failure_has_the_reason_of_rsync(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertIn('rsync', str(self.copy(Path(folder, 'nothing'), Path(folder, 'target')).error))

    def test_stopped_copy_has_ended(self):
        with tempfile.TemporaryDirectory() as folder:
            copy = rsync.Copy(Path(folder), Path(folder, 'target'), '--checksum')
            copy.stop()
            self.assertFalse(copy.is_alive())
