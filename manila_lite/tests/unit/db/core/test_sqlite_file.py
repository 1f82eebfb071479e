# SPDX-License-Identifier: Apache-2.0
"""The owner of a database that root makes. Commands: functional/test_manage_database_and_options.py."""

import os
import stat
import unittest
from pathlib import Path

import fixtures
import testtools

from manila_lite.db.core import sqlite_file

_USER, _GROUP = 54321, 54322


@unittest.skipIf(os.geteuid() != 0, 'only root can give files to another user')
class Made(testtools.TestCase):
    """The directory belongs to another user."""

    def setUp(self):
        super().setUp()
        self.folder = Path(self.useFixture(fixtures.TempDir()).path)
        os.chown(self.folder, _USER, _GROUP)

    def test_file_has_the_owner_of_its_directory_and_is_private(self):
        for name, url in (('plain', 'sqlite:///{}/plain'), ('tuned', 'sqlite:///{}/tuned?timeout=3')):
            sqlite_file.make(url.format(self.folder))
            made = (self.folder / name).stat()
            self.assertEqual((_USER, _GROUP, 0o600, 0), (made.st_uid, made.st_gid, stat.S_IMODE(made.st_mode), made.st_size))

    def test_a_file_that_is_there_is_left_alone(self):
        (self.folder / 'db').write_text('something')
        sqlite_file.make(f'sqlite:///{self.folder}/db')
        self.assertEqual((0, 'something'), ((self.folder / 'db').stat().st_uid, (self.folder / 'db').read_text()))

    def test_a_link_of_the_user_is_not_followed(self):
        elsewhere = Path(self.useFixture(fixtures.TempDir()).path)
        (self.folder / 'db').symlink_to(elsewhere / 'new')
        sqlite_file.make(f'sqlite:///{self.folder}/db')
        self.assertEqual([], list(elsewhere.iterdir()))

    def test_nothing_is_made_for_other_databases_or_without_a_directory(self):
        self.useFixture(fixtures.MonkeyPatch('os.open', None))
        for url in ('sqlite://', 'sqlite:///:memory:', 'sqlite:///file:name?mode=memory&uri=true',
                    'mysql+pymysql://user@localhost/name', f'sqlite:///{self.folder}/none/db'):
            sqlite_file.make(url)
