# SPDX-License-Identifier: Apache-2.0
"""Paths of subvolumes and the choice of the file system."""

import testscenarios
import testtools

from manila_lite import errors
from manila_lite.drivers.cephfs.volumes.subvolumes import choose_filesystem, parts_of

_GOOD = {
    '10.0.0.1:6789,10.0.0.2:6789:/volumes/_nogroup/s/1': ('_nogroup', 's', '1'),
    '[fd00::1]:6789,[fd00::2]:6789:/volumes/_nogroup/s/1': ('_nogroup', 's', '1'),
    '/volumes/group/s': ('group', 's'),
}
_BAD = (
    '',
    '/',
    's',
    '/volumes',
    '/volumes/group',
    '/volumes/group/',
    '/volumes/group/s/1/2',
    '/volumes/group/../x',
    '/other/group/s',
    '/volumes/group/_deleting/1',
    'a:volumes/group/s',
    '/volumes/group/a\0b',
    '/volumes/group/a b',
    '10.0.0.9:/shares/s',
)


class Paths(testscenarios.WithScenarios, testtools.TestCase):
    scenarios = [(repr(path), {'path': path, 'parts': _GOOD.get(path)}) for path in (*_GOOD, *_BAD)]

    def test_parts(self):
        self.assertEqual(self.parts, parts_of(self.path))


class FileSystem(testtools.TestCase):
    def test_only_one_needs_no_name(self):
        self.assertEqual('a', choose_filesystem(None, ['a']))
        self.assertEqual('b', choose_filesystem('b', ['a', 'b']))

    def test_any_doubt_is_told(self):
        for wanted, there, told in (
            (None, [], 'it must name one; the cluster has none'),
            (None, ['a', 'b'], 'it must name one; the cluster has a, b'),
            ('c', ['a'], 'there is no file system c; the cluster has a'),
        ):
            self.assertIn(told, str(self.assertRaises(errors.Final, choose_filesystem, wanted, there)))
