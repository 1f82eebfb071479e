# SPDX-License-Identifier: Apache-2.0
"""Classes behind entry points; a name that cannot be used is refused with the option and the reason."""

import sys
from pathlib import Path

import fixtures
import testtools

from manila_lite import entry_points, errors

_GROUP = 'manila_lite.tests.shapes'
_ENTRIES = f"""\
[{_GROUP}]
square = builtins:OSError
circle = manila_lite.no_such_module:Circle
oval = builtins:NoSuchClass
line = builtins:len
"""


class EntryPointsTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        root = Path(self.useFixture(fixtures.TempDir()).path)
        info = root / 'shapes-1.0.dist-info'
        info.mkdir()
        (info / 'METADATA').write_text('Metadata-Version: 2.1\nName: shapes\nVersion: 1.0\n')
        (info / 'entry_points.txt').write_text(_ENTRIES)
        sys.path.insert(0, str(root))
        self.addCleanup(sys.path.remove, str(root))
        # stevedore caches the entry points for the life of the process.
        self.useFixture(fixtures.MonkeyPatch('stevedore.extension.ExtensionManager.ENTRY_POINT_CACHE', {}))

    def _load(self, name, kind=Exception):
        return entry_points.load(_GROUP, name, kind, f'shape = {name}', 'shape')

    def _refused(self, *arguments):
        return str(self.assertRaises(errors.BadConfig, self._load, *arguments))

    def test_class_is_loaded_by_name(self):
        self.assertIs(OSError, self._load('square'))

    def test_refusal_of_an_unknown_name_lists_the_known_names(self):
        self.assertEqual(
            'shape = cube: no such shape; known: circle, line, oval, square', self._refused('cube')
        )
        self.assertEqual([], entry_points.names('manila_lite.tests.none'))

    def test_code_that_cannot_be_imported_is_refused(self):
        for name, why in (('circle', 'no_such_module'), ('oval', 'NoSuchClass')):
            self.assertRegex(self._refused(name), f'^shape = {name}: cannot be loaded: .*{why}')

    def test_class_of_another_kind_is_refused(self):
        self.assertEqual("shape = square: <class 'OSError'> is not a int", self._refused('square', int))
        self.assertEqual('shape = line: <built-in function len> is not a Exception', self._refused('line'))
