# SPDX-License-Identifier: Apache-2.0
"""The guard of file handles is built for one folder. Its refusals are tested in tests/security/test_file_handles.py."""

from pathlib import Path

import fixtures
import testtools

from manila_lite.drivers.linux import guard, run


class Guard(testtools.TestCase):
    def setUp(self):
        super().setUp()
        if not guard.can_be_made() or guard.plugin() is None:
            self.skipTest(f'the guard needs {guard.PACKAGES} nfs-ganesha-vfs')
        self.home = Path(self.useFixture(fixtures.TempDir()).path)

    def test_it_is_placed_once_and_only_for_root(self):
        guarded = guard.Guard(self.home)
        guarded.place()
        library = guarded.folder / guard.LIBRARY
        made = library.stat()
        guard.Guard(self.home).place()
        self.assertEqual((made.st_ino, made.st_mtime_ns), (library.stat().st_ino, library.stat().st_mtime_ns))
        self.assertEqual(0o700, guarded.folder.stat().st_mode & 0o777)
        self.assertEqual([guard.LIBRARY], [file.name for file in guarded.folder.iterdir()])

    def test_another_server_says_anew_that_it_goes_by_it(self):
        guarded = guard.Guard(self.home)
        self.assertFalse(guarded.works)
        (self.home / 'guarded').touch()
        self.assertTrue(guarded.works)
        guarded.place()
        self.assertFalse(guarded.works)

    def test_without_a_compiler(self):
        before = run.ENV['PATH']
        run.ENV['PATH'] = '/nowhere'
        self.addCleanup(run.ENV.__setitem__, 'PATH', before)
        self.assertFalse(guard.can_be_made())
        guard._compiled.cache_clear()
        self.assertRaises(run.CommandFailed, guard.Guard(self.home).place)
