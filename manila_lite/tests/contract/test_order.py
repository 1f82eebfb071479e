# SPDX-License-Identifier: Apache-2.0
"""The order of tests by a seed: small tests, in processes."""

import io
import os
import re
import subprocess
import sys
from pathlib import Path

import fixtures
import subunit
import testtools

from manila_lite.tests import limits, order, waiting

_ROOT = Path(__file__).resolve().parents[3]

_PACKAGE = """
import os
from manila_lite.tests import limits

def load_tests(loader, tests, pattern):
    return limits.discovered(loader, os.path.dirname(__file__), pattern)
"""

#: Each class prints when it is set up and taken down.
_CLASSES = """
import sys, testtools

class Base(testtools.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        print('up', cls.__name__, file=sys.stderr)
        cls.addClassCleanup(print, 'down', cls.__name__, file=sys.stderr)

    def test_a(self): pass
    def test_b(self): pass
    def test_c(self): pass
    def test_d(self): pass

class One(Base): pass
class Two(Base): pass
class Three(Base): pass
"""

#: Like gabbi's: a suite with work around its tests, which are in order.
_WHOLE = """
import sys, unittest

class Whole(unittest.TestSuite):
    def run(self, result, debug=False):
        print('up whole', file=sys.stderr)
        result = super().run(result, debug)
        print('down whole', file=sys.stderr)
        return result

class Requests(unittest.TestCase):
    def test_1(self): pass
    def test_2(self): pass
    def test_3(self): pass
    def test_4(self): pass

def load_tests(loader, tests, pattern):
    return unittest.TestSuite([Whole(loader.loadTestsFromTestCase(Requests))])
"""

#: A module with a thing that classes share, and such a class.
_GROUP = """
import sys
from manila_lite.tests import lasting

GROUP = lasting.Group('costly')

@GROUP.keep
def made():
    GROUP.at_end(lambda: print('ended', file=sys.stderr))
    print('made', file=sys.stderr)
"""
_OF_GROUP = """
import testtools
from small import group

class Costly(testtools.TestCase):
    TOGETHER = group.GROUP

    def test_a(self):
        group.made()
"""


def _tests(stream):
    """Return the names and statuses of tests, in the order of their run."""
    found = []
    result = testtools.StreamToDict(found.append)
    result.startTestRun()
    subunit.ByteStreamToStreamResult(io.BytesIO(stream)).run(result)
    result.stopTestRun()
    return {test['id']: test['status'] for test in found if test['status'] != 'exists'}


class Small(testtools.TestCase):
    """A package of small tests."""

    def setUp(self):
        super().setUp()
        self.place = Path(self.useFixture(fixtures.TempDir()).path)

    def plant(self, package, **modules):
        (self.place / package).mkdir(parents=True)
        for name, text in {'__init__': _PACKAGE, **modules}.items():
            (self.place / package / f'{name}.py').write_text(text)

    def run_tool(self, *words, root=_ROOT, **env):
        mine = (order.SEED, limits.PROGRESS, limits.UNTIL, 'PYTHON', 'OS_TEST_TIMEOUT')
        clean = {name: value for name, value in os.environ.items() if name not in mine}
        return subprocess.run(
            [sys.executable, *words],
            cwd=self.place,
            env=clean | {'PYTHONPATH': str(root)} | env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=waiting.LIMIT,
            check=False,
        )


class Shuffled(Small):
    def setUp(self):
        super().setUp()
        self.plant('small', test_a=_CLASSES, test_b=_CLASSES, test_c=_WHOLE)

    def order(self, seed, *more):
        """Return the names of tests in the order of a seed, and the lines of set-up and take-down."""
        done = self.run_tool(
            '-m', 'stestr.subunit_runner.run', 'discover', '-t', '.', 'small', *more, **{order.SEED: seed}
        )
        tests = _tests(done.stdout)
        self.assertEqual({'success'}, {*tests.values()}, done.stderr)
        return [name.removeprefix('small.test_') for name in tests], done.stderr.decode().splitlines()

    def test_seed_gives_a_repeatable_order_of_classes_and_tests(self):
        plain, _ = self.order('')
        self.assertEqual(sorted(plain), sorted(self.order('1')[0]))
        self.assertEqual(self.order('1'), self.order('1'), 'it can be repeated')
        found = [self.order(str(seed))[0] for seed in range(1, 6)]
        self.assertLess(
            1, len({tuple(dict.fromkeys(name.rpartition('.')[0] for name in names)) for names in found})
        )
        self.assertLess(
            1, len({tuple(name for name in names if name.startswith('a.One.')) for names in found})
        )

    def test_tests_are_in_file_order_without_a_seed(self):
        names = self.order('')[0]
        self.assertEqual(sorted(names), names)

    def test_a_class_is_set_up_once_and_taken_down_before_the_next(self):
        for seed in '1', '2', '3':
            names, told = self.order(seed)
            self.assertEqual(
                [],
                [
                    pair
                    for pair in zip(told[::2], told[1::2], strict=True)
                    if pair[0].split() != ['up', pair[1].removeprefix('down ')]
                ],
            )
            self.assertEqual(2 * len({name.rpartition('.')[0] for name in names}), len(told))

    def test_classes_of_a_group_are_beside_each_other_and_it_ends_after_them(self):
        for name, text in (('group', _GROUP), ('test_d', _OF_GROUP), ('test_e', _OF_GROUP)):
            (self.place / 'small' / f'{name}.py').write_text(text)
        for seed in '1', '2', '3', '4':
            names, told = self.order(seed)
            at = [number for number, name in enumerate(names) if '.Costly.' in name]
            self.assertEqual([at[0], at[0] + 1], at)
            self.assertEqual(
                [told.index('made') + 1], [number for number, line in enumerate(told) if line == 'ended']
            )

    def test_order_within_a_suite_is_kept(self):
        for seed in '1', '2', '3', '4':
            names = self.order(seed)[0]
            at = names.index('c.Requests.test_1')
            self.assertEqual([f'c.Requests.test_{number}' for number in (1, 2, 3, 4)], names[at : at + 4])

    def test_order_is_kept_if_other_tests_are_removed(self):
        before = {seed: self.order(seed)[0] for seed in ('1', '2', '3')}
        (self.place / 'small/test_b.py').unlink()
        (self.place / 'some').write_text(
            ''.join(f'small.test_{name}\n' for name in before['1'] if name[-1] in 'ad3')
        )
        for seed, names in before.items():
            left = [name for name in names if not name.startswith('b.')]
            self.assertEqual(left, self.order(seed)[0])
            self.assertEqual(
                [name for name in left if name[-1] in 'ad3'],
                self.order(seed, '--load-list', str(self.place / 'some'))[0],
            )


class Dropped(testtools.TestCase):
    def test_tests_dropped_by_name_exist(self):
        """Each test that a class drops by name exists: a test renamed only at its definition would run there after all."""
        texts = {path: path.read_text() for path in (_ROOT / 'manila_lite' / 'tests').rglob('*.py')}
        written = {name for text in texts.values() for name in re.findall(r'def (test_\w+)\(', text)}
        dropped = {
            (path.name, name)
            for path, text in texts.items()
            for line in re.findall(r'^    ((?:test_\w+ = )+)None$', text, re.MULTILINE)
            for name in line.rstrip(' =').split(' = ')
        }
        self.assertNotEqual(set(), dropped)
        self.assertEqual(set(), {(path, name) for path, name in dropped if name not in written})
