# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import fixtures
import testtools

from manila_lite import errors
from manila_lite.drivers.linux.pool import unmanaged


class LeftTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.root = Path(self.useFixture(fixtures.TempDir()).path)

    def test_marks_are_added_and_dropped_with_their_notes(self):
        marks = unmanaged.Unmanaged(self.root, unmanaged.SHARES)
        self.assertNotIn('a', marks)
        marks.drop('a')
        for note in ('', 'again'):
            marks.add('a', note)
        self.assertIn('a', marks)
        self.assertEqual(('again', ''), (marks.note('a'), marks.note('b')))
        self.assertNotIn('a', unmanaged.Unmanaged(self.root, unmanaged.SNAPSHOTS))
        marks.drop('a')
        self.assertNotIn('a', marks)


class PathsTest(testtools.TestCase):
    ADDRESSES = ('10.0.0.1', 'fd00::1')

    def setUp(self):
        super().setUp()
        self.root = Path(self.useFixture(fixtures.TempDir()).path) / 'pool'
        (self.root / 'shares' / 'a').mkdir(parents=True)

    def parts(self, path):
        return unmanaged.parts_of(path, self.root, self.ADDRESSES)

    def test_each_notation_of_a_path_is_parsed(self):
        for path in (
            '10.0.0.1:/shares/a',
            '[fd00::1]:/shares/a',
            r'\\10.0.0.1\a',
            r'\\fd00::1\a',
            f'{self.root}/shares/a',
        ):
            self.assertEqual(('shares', 'a'), self.parts(path))
        self.assertEqual(('nas', 'old', 'a'), self.parts('10.0.0.1:/nas/old/a/'))

    def test_foreign_and_malformed_paths_are_refused(self):
        for path in (
            r'\\10.0.0.2\a',
            r'\\10.0.0.1',
            r'\\10.0.0.1\..',
            '10.0.0.2:/shares/a',
            '/etc',
            str(self.root),
            '',
            '10.0.0.1:/',
            '10.0.0.1://shares/a',
            'shares/a',
            '10.0.0.1:/shares/../a',
            '10.0.0.1:/shares/.a.old',
            '10.0.0.1:/shares/a\0b',
            f'{self.root}/../etc',
        ):
            self.assertRaises(errors.Final, self.parts, path)

    def test_no_link_is_followed(self):
        outside = self.root.parent / 'outside'
        (outside / 'b').mkdir(parents=True)
        (self.root / 'link').symlink_to(outside)
        (self.root / 'shares' / 'linked').symlink_to(self.root / 'shares' / 'a')
        (self.root / 'file').write_text('')
        self.assertEqual(self.root / 'shares' / 'a', unmanaged.walk(self.root, ('shares', 'a')))
        for parts in (
            ('link',),
            ('link', 'b'),
            ('shares', 'linked'),
            ('file',),
            ('file', 'a'),
            ('shares', 'none'),
        ):
            self.assertRaises(errors.Final, unmanaged.walk, self.root, parts)
