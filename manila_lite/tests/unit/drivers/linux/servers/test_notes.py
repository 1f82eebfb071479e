# SPDX-License-Identifier: Apache-2.0
"""Notes in the folders of share servers."""

import pathlib

import fixtures
import testtools

from manila_lite.drivers.linux.servers import notes


class NotesTest(testtools.TestCase):
    """Notes of one folder."""

    def setUp(self):
        super().setUp()
        self.home = pathlib.Path(self.useFixture(fixtures.TempDir()).path)

    def test_without_notes_it_is_ours_and_has_no_name(self):
        self.assertEqual(({}, ''), (notes.of(self.home), notes.name(self.home)))
        self.assertEqual({}, notes.of(self.home / 'missing'))

    def test_let_go_of_and_taken_over(self):
        notes.leave(self.home, 'nas', ['10.0.0.1', 'fd00::1'])
        self.assertEqual({'identifier': 'nas', 'addresses': ['10.0.0.1', 'fd00::1']}, notes.of(self.home))
        notes.rename(self.home, 'nas')
        notes.drop(self.home)
        notes.drop(self.home)
        self.assertEqual(({}, 'nas'), (notes.of(self.home), notes.name(self.home)))

    def test_one_that_is_not_ours_has_its_name_in_the_note(self):
        notes.rename(self.home, 'nas')
        notes.leave(self.home, notes.name(self.home), [])
        self.assertEqual('', notes.name(self.home))
        self.assertEqual('nas', notes.of(self.home)['identifier'])
