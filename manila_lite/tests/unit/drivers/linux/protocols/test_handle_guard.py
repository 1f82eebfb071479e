# SPDX-License-Identifier: Apache-2.0
"""The guard of file handles is built for one folder. Its refusals are tested in tests/security/test_file_handles.py."""

from pathlib import Path

import fixtures
import testtools

from manila_lite.drivers.file_servers import compiled
from manila_lite.drivers.linux.protocols import handle_guard
from manila_lite.host import commands


class Guard(testtools.TestCase):
    def setUp(self):
        super().setUp()
        if not compiled.can_be_made() or handle_guard.plugin() is None:
            self.skipTest(f'the guard needs {compiled.PACKAGES} nfs-ganesha-vfs')
        self.home = Path(self.useFixture(fixtures.TempDir()).path)

    def test_guard_library_is_made_anew_and_only_for_root(self):
        guarded = handle_guard.HandleGuard(self.home)
        guarded.install()
        library = guarded.folder / handle_guard.LIBRARY
        made = library.read_bytes()
        library.write_bytes(b'planted')
        (guarded.folder / 'libfsalother.so').write_bytes(b'planted')
        handle_guard.HandleGuard(self.home).install()
        self.assertEqual(made, library.read_bytes())
        self.assertEqual(0o700, guarded.folder.stat().st_mode & 0o777)
        self.assertEqual([handle_guard.LIBRARY], [file.name for file in guarded.folder.iterdir()])

    def test_library_behind_a_link_is_not_written(self):
        elsewhere = self.home / 'elsewhere'
        elsewhere.mkdir()
        guarded = handle_guard.HandleGuard(self.home)
        guarded.folder.symlink_to(elsewhere)
        self.assertRaises(OSError, guarded.install)
        self.assertEqual([], list(elsewhere.iterdir()))

    def test_placing_the_guard_again_requires_a_new_confirmation(self):
        guarded = handle_guard.HandleGuard(self.home)
        self.assertFalse(guarded.works)
        (self.home / 'guarded').touch()
        self.assertTrue(guarded.works)
        guarded.install()
        self.assertFalse(guarded.works)

    def test_placing_the_guard_without_a_compiler_fails(self):
        before = commands.ENV['PATH']
        commands.ENV['PATH'] = '/nowhere'
        self.addCleanup(commands.ENV.__setitem__, 'PATH', before)
        self.assertFalse(compiled.can_be_made())
        compiled._bytes.cache_clear()
        self.assertRaises(commands.CommandFailed, handle_guard.HandleGuard(self.home).install)
