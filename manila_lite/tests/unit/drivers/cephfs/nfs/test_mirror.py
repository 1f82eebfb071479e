# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import fixtures
import testtools

from manila_lite.drivers.cephfs.nfs.mirror import ObjectMirror
from manila_lite.host.commands import CommandFailed
from manila_lite.tests.unit.drivers.cephfs.nfs import base


class MirrorTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.objects = base.Objects()

    def place(self, **files):
        place = Path(self.useFixture(fixtures.TempDir()).path)
        for name, text in files.items():
            (place / f'{name}.conf').write_text(text)
        return place

    def files(self, place):
        return {file.name: file.read_text() for file in place.iterdir()}

    def test_other_host_gets_exactly_the_exports_of_the_first(self):
        first, other = ObjectMirror(self.objects), ObjectMirror(self.objects)
        first.pull(self.place())
        first.push('a', 'one')
        first.push('b', 'two')
        first.push('a', None)
        first.push('c', 'three')
        place = self.place(a='stale', c='old')
        (place / 'torn.new').write_text('x')
        other.pull(place)
        self.assertEqual({'b.conf': 'two', 'c.conf': 'three'}, self.files(place))
        self.assertEqual({0o600}, {file.stat().st_mode & 0o777 for file in place.iterdir()})

    def test_first_pull_keeps_the_files_of_a_backend_that_had_one_host(self):
        place = self.place(a='one')
        ObjectMirror(self.objects).pull(place)
        self.assertEqual({'a.conf': 'one'}, self.files(place))
        other = self.place()
        ObjectMirror(self.objects).pull(other)
        self.assertEqual({'a.conf': 'one'}, self.files(other))

    def test_unchanged_exports_are_not_written_again(self):
        mirror = ObjectMirror(self.objects)
        mirror.pull(self.place())
        mirror.push('a', 'one')
        written = self.objects.written
        mirror.push('a', 'one')
        mirror.push('b', None)
        self.assertEqual(written, self.objects.written)

    def test_change_that_could_not_be_written_is_not_taken_as_written(self):
        mirror = ObjectMirror(self.objects)
        mirror.pull(self.place())
        self.objects.away = True
        self.assertRaises(CommandFailed, mirror.push, 'a', 'one')
        self.objects.away = False
        mirror.push('a', 'one')
        other = self.place()
        ObjectMirror(self.objects).pull(other)
        self.assertEqual({'a.conf': 'one'}, self.files(other))

    def test_damaged_copy_is_named_and_no_file_is_deleted(self):
        self.objects.kept['exports'] = b'{"a": '
        place = self.place(a='one')
        refused = self.assertRaises(CommandFailed, ObjectMirror(self.objects).pull, place)
        self.assertIn('the object exports in the namespace space of the pool pool is damaged', str(refused))
        self.assertEqual({'a.conf': 'one'}, self.files(place))
