# SPDX-License-Identifier: Apache-2.0
"""Files that a program in a cage sees, and writes it may make."""

import os
import tempfile
import unittest
from pathlib import Path

import testtools

from manila_lite.host import sandbox
from manila_lite.host.commands import CommandFailed, run


class Caged(testtools.TestCase):
    def setUp(self):
        super().setUp()
        if os.geteuid():
            raise unittest.SkipTest('a cage needs root')
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.source, self.target = Path(folder.name, 'source'), Path(folder.name, 'target')
        for place in (self.source, self.target):
            place.mkdir()
            (place / 'f').write_text(place.name)

    def run_in(self, *words, **more):
        return run(*sandbox.words(self.target, *words, **more))

    def test_only_source_target_and_system_programs_are_visible(self):
        seen = set(self.run_in('find', '/', '-maxdepth', '2', source=self.source).split())
        self.assertEqual(
            {'/', '/source', '/target', '/source/f', '/target/f'},
            {name for name in seen if not name.startswith(('/usr', '/lib'))},
        )

    def test_only_the_target_is_writable(self):
        for place in ('/source/f', '/new', '/usr/lib/new'):
            self.assertIn(
                'Read-only',
                str(self.assertRaises(CommandFailed, self.run_in, 'touch', place, source=self.source)),
            )
        self.run_in('touch', '/target/new', source=self.source)
        self.assertEqual(['f', 'new'], sorted(os.listdir(self.target)))

    def test_files_of_any_owner_are_accessible_but_devices_are_not(self):
        os.chown(self.target / 'f', 1234, 1234)
        (self.target / 'f').chmod(0o000)
        self.assertEqual('target', self.run_in('cat', '/target/f'))
        self.run_in('chown', '5:6', '/target/f')
        self.assertEqual((5, 6), (os.stat(self.target / 'f').st_uid, os.stat(self.target / 'f').st_gid))
        self.run_in('mknod', '/target/zero', 'c', '1', '5')
        self.assertRaises(CommandFailed, self.run_in, 'head', '-c', '1', '/target/zero')

    def test_links_to_outside_files_cannot_be_read(self):
        outside = self.target.parent / 'outside'
        outside.write_text('secret')
        for number, way in enumerate((outside, '../outside', f'/proc/1/root{outside}')):
            (self.target / f'link{number}').symlink_to(way)
            self.assertRaises(CommandFailed, self.run_in, 'cat', f'/target/link{number}')

    def test_missing_program_is_reported_as_not_installed(self):
        self.assertIn(
            'is not installed',
            str(self.assertRaises(CommandFailed, sandbox.words, self.target, 'no-such-program')),
        )
