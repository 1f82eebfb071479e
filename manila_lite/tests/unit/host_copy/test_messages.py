# SPDX-License-Identifier: Apache-2.0
"""Messages of rsync: progress, errors, and paths."""

import testtools

from manila_lite.host.commands import CommandFailed
from manila_lite.host_copy import messages


class Said(testtools.TestCase):
    def test_last_progress_in_the_output_is_returned(self):
        for said, progress in (
            (b'', (0, 0)),
            (b'\n    1,024  12%  3.45MB/s    0:00:01\r', (1024, 12)),
            (b'\r 1 7% 1MB/s\r 2 31% 1MB/s\r', (2, 31)),
            (b'\n 9 100% 1MB/s (xfr#1, to-chk=0/2)\n', (9, 99)),
            (b'\ncut 5', (0, 0)),
            (b'\nx% y', (0, 0)),
            (b'\nrsync: "/a 999 99% b": no (2)\n', (0, 0)),
        ):
            heard = messages.Messages()
            self.assertEqual(progress, (heard.progress(said), heard.percent), said)
        heard.percent = 40
        self.assertEqual((1, 40), (heard.progress(b'\r 1 7% 1MB/s'), heard.percent))

    def test_error_lines_of_the_output_are_returned_as_the_reason(self):
        said = b' 1 7%\rrsync: [receiver] write failed\nmore\nrsync error: some files (code 23)\n'
        self.assertEqual(
            'rsync: [receiver] write failed; rsync error: some files (code 23)', messages.last_words(said)
        )
        self.assertEqual('it failed', messages.last_words(b''))

    def test_error_output_is_mapped_to_its_error_class(self):
        gone = b'failed: Operation not supported (95)\n'
        for said, kinds in (
            (
                b'rsync: [receiver] rsync_xal_set: fsetxattr("/a/b c","user.d") ' + gone,
                {messages.CannotKeepAll},
            ),
            (
                b' 1 7%\rrsync: [generator] set_acl: xacl_set(b, ACL_TYPE_ACCESS): ' + gone + b' 2\r',
                {messages.CannotKeepAll},
            ),
            (b'rsync: [sender] send_files failed to open "/set_acl: (95)": Permission denied (13)\n', set()),
            (
                b'rsync: [sender] opendir "/source/d/d" failed: Cannot allocate memory (12)\n',
                {messages.TooDeep},
            ),
            (
                b'rsync: [receiver] rsync_xal_set: lsetxattr("/a","user.d") failed: No space (28)\n',
                {messages.NoRoom},
            ),
            (
                b'rsync: [sender] opendir "/source/' + b'd/' * 2000 + b'd" failed: Name too long (36)\n',
                {messages.TooDeep},
            ),
            (b'rsync: no end of a line (28)', set()),
            (b'name: No space (28)\n', set()),
        ):
            told = messages.Messages()
            for begin in range(0, len(said), 100):
                told.hear(said[begin : begin + 100])
            self.assertEqual(kinds, told._kinds, said)

    def test_paths_of_files_that_failed_are_kept_with_the_reason(self):
        for said, path, why in (
            (
                b'[sender] send_files failed to open "/source/a/b": Permission denied (13)',
                'a/b',
                'Permission denied',
            ),
            (
                b'[receiver] mkstemp "/target/d/.f".x.Ab12Cd" failed: No space left on device (28)',
                'd/f".x',
                'No space left on device',
            ),
            (
                b'[receiver] rename "/target/.s.Ab12Cd" -> "s": Operation not permitted (1)',
                's',
                'Operation not permitted',
            ),
            (b'[generator] symlink "/target/l" -> "x": y" failed: File exists (17)', 'l', 'File exists'),
            (
                b'[sender] readlink_stat("/source/\\#377") failed: Stale file handle (116)',
                '\\#377',
                'Stale file handle',
            ),
        ):
            for before in (
                b'',
                b'         32,768   1%    0.00kB/s    0:00:00  ',
                b'              7 100%    2.00MB/s    0:00:00 (xfr#1, to-chk=0/2)',
            ):
                self.assertEqual({path: why}, self.heard(before + b'rsync: ' + said), said)
        for said in (
            b'rsync error: some files (code 23)',
            b'rsync: "/etc/f": no (1)',
            b'"/source/f": Permission denied (13)',
            b'rsync: [sender] "/source/f" of: no (1)',
            b'rsync: "/source/f: no (1)',
            b'rsync: "/source/f": no "(1)',
        ):
            self.assertEqual({}, self.heard(said), said)

    def heard(self, line):
        told = messages.Messages()
        told.hear(line + b'\n')
        return told.failed

    def test_copy_with_too_many_errors_ends_with_the_kind_of_the_errors(self):
        """Send whole lines and one without an end: neither gathers in memory."""
        for line, kind in (
            (
                b'rsync: [sender] send_files failed to open "/source/a": Permission denied (13)\n',
                CommandFailed,
            ),
            (b'rsync: [receiver] mkstemp "/target/.a.Ab12Cd" failed: No space left (28)\n', messages.NoRoom),
            (b'rsync: ' + b'x' * 1000 + b'\n', CommandFailed),
        ):
            told = messages.Messages()
            told.hear(line * messages._ERRORS)
            failed = self.assertRaises(kind, told.hear, line)
            self.assertIn('rsync: stopped after 1000 errors; the last one: rsync: ', str(failed))
        told = messages.Messages()
        for _ in range(100):
            told.hear(b'rsync: ' + b'x' * 100000)
            self.assertEqual(messages._LINE, len(told._rest))
