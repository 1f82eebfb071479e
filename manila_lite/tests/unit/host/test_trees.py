# SPDX-License-Identifier: Apache-2.0
"""Directory trees are removed, or lose files that a copy would fail at. Hostile ones: ``tests/security``."""

import os
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import testtools

from manila_lite.host import trees
from manila_lite.host.commands import CommandFailed, run


class Changed(testtools.TestCase):
    def setUp(self):
        super().setUp()
        if os.geteuid():
            raise unittest.SkipTest('a cage needs root')
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.place = Path(folder.name, 'place')
        (self.place / 'a' / 'b').mkdir(parents=True)
        (self.place / 'a' / 'one').write_text('one')

    def test_tree_is_removed_and_a_second_removal_is_no_error(self):
        for _ in range(2):
            trees.remove(self.place)
            self.assertFalse(self.place.exists())

    def test_link_is_removed_and_its_target_is_kept(self):
        link = self.place.parent / 'link'
        link.symlink_to(self.place)
        trees.remove(link)
        self.assertEqual((False, True), (os.path.lexists(link), (self.place / 'a' / 'one').exists()))

    def test_failed_removal_names_the_tree_and_the_reason(self):
        with mock.patch.object(trees, 'run', side_effect=CommandFailed('find / -delete: no')):
            bad = self.assertRaises(CommandFailed, trees.remove, self.place)
        self.assertEqual(f'{self.place} cannot be deleted: no', str(bad))

    def test_extra_hard_links_and_too_deep_folders_are_removed(self):
        os.link(self.place / 'a' / 'one', self.place / 'two')
        deep = self.place / ('x' * 250)
        for _ in range(7):
            deep = deep / ('x' * 250)
        deep.mkdir(parents=True)
        run(*trees.untangled(self.place))
        self.assertEqual(1, len([name for name in ('a/one', 'two') if (self.place / name).exists()]))
        self.assertTrue((self.place / 'a' / 'b').exists())
        self.assertFalse(deep.exists())
