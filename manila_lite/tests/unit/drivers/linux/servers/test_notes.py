# SPDX-License-Identifier: Apache-2.0
"""Notes in the folders of share servers."""

import os
import pathlib

import fixtures
import testtools

from manila_lite.drivers.linux.servers import notes


class NotesTest(testtools.TestCase):
    """Notes of one folder."""

    def setUp(self):
        super().setUp()
        self.home = pathlib.Path(self.useFixture(fixtures.TempDir()).path)

    def test_folder_without_notes_has_no_name(self):
        self.assertEqual(({}, ''), (notes.of(self.home), notes.name(self.home)))
        self.assertEqual({}, notes.of(self.home / 'missing'))

    def test_name_is_kept_after_the_note_is_dropped(self):
        notes.leave(self.home, 'nas', ['10.0.0.1', 'fd00::1'])
        self.assertEqual({'identifier': 'nas', 'addresses': ['10.0.0.1', 'fd00::1']}, notes.of(self.home))
        notes.rename(self.home, 'nas')
        notes.drop(self.home)
        notes.drop(self.home)
        self.assertEqual(({}, 'nas'), (notes.of(self.home), notes.name(self.home)))

    def test_notes_are_on_the_disk(self):
        synced = []
        self.useFixture(
            fixtures.MonkeyPatch('os.fsync', lambda fd: synced.append(os.readlink(f'/proc/self/fd/{fd}')))
        )
        home = str(self.home)
        for note, files in (
            (lambda: notes.rename(self.home, 'nas'), [f'{home}/name.new', home]),
            (lambda: notes.leave(self.home, 'nas', []), [f'{home}/not-ours.json.new', home, home]),
            (lambda: notes.drop(self.home), [home]),
        ):
            synced.clear()
            note()
            self.assertEqual(files, synced)

    def test_name_of_an_unmanaged_server_is_in_its_note(self):
        notes.rename(self.home, 'nas')
        notes.leave(self.home, notes.name(self.home), [])
        self.assertEqual('', notes.name(self.home))
        self.assertEqual('nas', notes.of(self.home)['identifier'])
