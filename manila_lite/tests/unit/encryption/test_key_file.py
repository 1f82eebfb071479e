# SPDX-License-Identifier: Apache-2.0
"""The file of encryption keys: files that are accepted, and messages about those that are not."""

import os
import stat
from pathlib import Path

import fixtures
import testtools

from manila_lite import errors
from manila_lite.encryption import key_file

_USER = 65534


class KeyFile(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.folder = Path(self.useFixture(fixtures.TempDir()).path)
        self.path = self.folder / 'deep' / 'keys'

    def test_existing_file_is_not_overwritten(self):
        self.assertEqual([], key_file.read(self.path))
        self.assertTrue(key_file.make(self.path))
        before = self.path.read_text()
        self.assertFalse(key_file.make(self.path))
        self.assertEqual(before, self.path.read_text())
        self.assertEqual(0o600, stat.S_IMODE(self.path.stat().st_mode))
        self.assertEqual([self.path], list(self.path.parent.iterdir()))
        self.assertEqual(1, len(key_file.read(self.path)))

    def test_group_may_read_the_file_in_a_folder_of_root_that_it_may_read(self):
        if os.geteuid() != 0:
            self.skipTest('only root can give files to another group')
        for number, (owner, mode, expected) in enumerate(
            ((0, 0o750, 0o640), (0, 0o700, 0o600), (_USER, 0o750, 0o600))
        ):
            folder = self.folder / str(number)
            folder.mkdir()
            folder.chmod(mode)
            os.chown(folder, owner, _USER)
            key_file.make(folder / 'keys')
            about = (folder / 'keys').stat()
            self.assertEqual(
                (owner, _USER, expected), (about.st_uid, about.st_gid, stat.S_IMODE(about.st_mode))
            )

    def test_failure_to_create_the_file_is_bad_config(self):
        (self.folder / 'deep').touch()
        self.assertRaisesRegex(errors.BadConfig, 'cannot be made', key_file.make, self.path)

    def test_file_is_read_as_one_key_a_line_without_comments(self):
        keys = [key_file.new(), key_file.new()]
        self.path = self.folder / 'keys'
        self.path.touch(mode=0o600)
        self.path.write_text(f'# what it is\n\n{keys[0]}\n  {keys[1]}  \n')
        self.assertEqual([key.encode() for key in keys], key_file.read(self.path))
        for text, why in (
            ('', 'has no key'),
            ('# nothing\n', 'has no key'),
            (f'{keys[0]}\nshort', 'line 2 of .* is not a key'),
            ('\N{SNOWMAN}', 'cannot be read'),
        ):
            self.path.write_text(text)
            said = self.assertRaises(errors.BadConfig, key_file.read, self.path)
            self.assertRegex(str(said), why)
            self.assertNotIn(keys[0], str(said))

    def test_a_file_that_others_may_read_is_refused(self):
        key_file.make(self.path)
        for mode in (0o644, 0o604, 0o660, 0o620):
            self.path.chmod(mode)
            self.assertRaisesRegex(errors.BadConfig, f'mode {mode:04o}', key_file.read, self.path)
        for mode in (0o600, 0o400, 0o640):
            self.path.chmod(mode)
            self.assertEqual(1, len(key_file.read(self.path)))

    def test_stamp_changes_when_the_file_changes(self):
        self.assertEqual((), key_file.stamp(self.path))
        key_file.make(self.path)
        before = key_file.stamp(self.path)
        self.assertEqual(before, key_file.stamp(self.path))
        self.path.write_text(f'{key_file.new()}\n# longer\n')
        self.assertNotEqual(before, key_file.stamp(self.path))
