# SPDX-License-Identifier: Apache-2.0
"""Modes that are narrowed, and folders that are left alone."""

import os
import stat
from pathlib import Path
from types import SimpleNamespace

import fixtures
import testtools

from manila_lite import errors
from manila_lite.cmd import umask


def _mode(path):
    return stat.S_IMODE(path.stat().st_mode)


class Tighten(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.state = Path(self.useFixture(fixtures.TempDir()).path, 'state')
        self.state.mkdir(mode=0o755)
        self.said = self.useFixture(fixtures.FakeLogger())

    def conf(self, connection=None, state=None):
        return SimpleNamespace(
            state_path=str(state or self.state), database=SimpleNamespace(connection=connection)
        )

    def test_wide_modes_are_listed_and_narrowed(self):
        for name in ('db', 'db-wal', 'other'):
            (self.state / name).touch()
            (self.state / name).chmod(0o664)
        conf = self.conf(f'sqlite:///{self.state}/db?timeout=3')
        self.assertEqual(
            [
                f'{self.state} has mode 0755',
                *(f'{self.state}/{name} has mode 0664' for name in ('db', 'db-wal')),
            ],
            umask.list_open_paths(conf),
        )
        umask.restrict_modes(conf)
        self.assertEqual([], umask.list_open_paths(conf))
        self.assertEqual(
            (0o700, 0o600, 0o600, 0o664),
            tuple(map(_mode, (self.state, self.state / 'db', self.state / 'db-wal', self.state / 'other'))),
        )
        self.assertIn('it has mode 0700 now', self.said.output)
        said = self.said.output
        umask.restrict_modes(conf)
        self.assertEqual(said, self.said.output)

    def test_missing_files_are_ignored(self):
        for connection in (
            None,
            'sqlite://',
            'sqlite:///:memory:',
            'postgresql://u:p@h/d',
            f'sqlite:///{self.state}/none',
        ):
            umask.restrict_modes(self.conf(connection, self.state / 'none'))

    def test_system_folder_as_state_path_is_refused_and_unchanged(self):
        sticky = self.state / 'tmp'
        sticky.mkdir()
        sticky.chmod(0o1777)
        link = self.state / 'link'
        link.symlink_to('/var')
        for folder in (sticky, link, Path('/var/lib/../lib')):
            before = _mode(folder)
            self.assertRaisesRegex(
                errors.BadConfig,
                'state_path: .* whole machine',
                umask.restrict_modes,
                self.conf(state=folder),
            )
            self.assertEqual(before, _mode(folder))

    def test_new_files_are_for_their_owner_only(self):
        self.addCleanup(os.umask, os.umask(0o022))
        umask.set_umask()
        (self.state / 'file').touch()
        self.assertEqual(0o600, _mode(self.state / 'file'))
