# SPDX-License-Identifier: Apache-2.0
"""tools/tiers.py: every test has one part, each class its turn, and the last line tells the truth."""

import collections
import importlib
import io
import os
import re
import subprocess
import sys
import types
from contextlib import redirect_stdout
from pathlib import Path

import fixtures
import testtools
from stestr import scheduler
from stestr.repository import file, util

_ROOT = Path(__file__).resolve().parents[3]
_TESTS = _ROOT / 'manila_lite' / 'tests'


def load():
    """Return the module of the tool."""
    sys.path.insert(0, str(_ROOT / 'tools'))
    try:
        return importlib.import_module('tiers')
    finally:
        sys.path.remove(str(_ROOT / 'tools'))


def names():
    """Return names of tests for each class in the source: all that its file has."""
    return [
        f'{".".join(path.relative_to(_ROOT).with_suffix("").parts)}.{name}.{test}'
        for path in sorted(_TESTS.rglob('test_*.py'))
        if 'in_tempest' not in path.parts
        for name in re.findall(r'^class (\w+)', path.read_text(), re.MULTILINE)
        for test in ['test', *re.findall(r'^    def (test\w+)', path.read_text(), re.MULTILINE)]
    ]


class PartsTest(testtools.TestCase):
    """The table of parts, for the classes that there are."""

    def setUp(self):
        super().setUp()
        self.tiers = load()
        self.parts = self.tiers.Parts()
        self.names = sorted(set(names()))

    def test_every_expression_finds_a_test(self):
        """An expression whose tests were renamed would put them into the default tier, and nobody would see it."""
        for part in (self.parts.default, self.parts.servers, self.parts.sqlite, *self.parts.rows.values()):
            for form in (*part.tests, *(f'{re.escape(name)}\\.' for name in part.seconds)):
                self.assertTrue(
                    any(re.match(form, name.removeprefix('manila_lite.tests.')) for name in self.names), form
                )

    def test_stestr_deals_out_the_longest_classes_evenly_in_a_new_clone(self):
        folder = self.useFixture(fixtures.TempDir()).path
        repository = file.RepositoryFactory().initialise(folder)
        part = self.parts.default
        names = self.parts.tests(part, self.names)
        self.tiers.tell_seconds(part, names, Path(folder, '.stestr'))
        dealt = []
        for tests in scheduler.partition_tests(names, 4, repository, self.tiers.group):
            classes = {self.tiers.group(test).removeprefix('manila_lite.tests.') for test in tests}
            dealt.append(sum(part.seconds.get(name, 0) for name in classes))
        self.assertEqual(sum(part.seconds.values()), sum(dealt))
        self.assertLess(max(dealt) - min(dealt), 20)

    def test_each_class_has_a_turn_within_ten_landings_on_each_database(self):
        for part in self.parts.rows.values():
            tests = self.parts.tests(part, self.names)
            found = collections.Counter(
                name
                for turn in range(40, 40 + self.tiers.TURNS)
                for name in tests
                if self.tiers.mine(part, self.tiers.group(name), turn)
            )
            self.assertEqual(dict.fromkeys(tests, 1), dict(found))
            for command in map(' '.join, part.commands):
                self.assertEqual(
                    1, sum(self.tiers.mine(part, command, turn) for turn in range(self.tiers.TURNS))
                )

    def test_each_class_is_in_the_first_part_of_a_slice_once_in_ten_landings_for_each_part(self):
        rows = [*self.parts.rows.values()]
        orders = {
            turn: self.tiers.in_order_of(rows, turn) for turn in range(40, 40 + self.tiers.TURNS * len(rows))
        }
        for order in orders.values():
            self.assertEqual(sorted(part.name for part in rows), sorted(part.name for part in order))
        self.assertEqual(
            {(part.name, tenth): 1 for part in rows for tenth in range(self.tiers.TURNS)},
            collections.Counter((order[0].name, turn % self.tiers.TURNS) for turn, order in orders.items()),
        )

    def test_slice_begins_with_the_first_part_of_its_landing(self):
        root = Path(self.useFixture(fixtures.TempDir()).path)
        (root / '.ci').mkdir()
        for name, value in (('ROOT', root), ('listed', lambda: self.names), ('changed', list)):
            self.useFixture(fixtures.MonkeyPatch(f'tiers.{name}', value))
        begun, asked = set(), []
        run = types.SimpleNamespace(tests=lambda *words: asked.append(words), command=lambda words: True)
        for turn in range(2, 2 + 3 * self.tiers.TURNS, self.tiers.TURNS):
            (root / '.ci' / 'turn').write_text(f'{turn}\n')
            asked.clear()
            with redirect_stdout(io.StringIO()):
                self.tiers.slice_of_rest(run, self.parts)
            part = self.tiers.in_order_of([*self.parts.rows.values()], turn)[0]
            tests = [
                name
                for name in self.parts.tests(part, self.names)
                if self.tiers.mine(part, self.tiers.group(name), turn)
            ]
            self.assertEqual((tests, part.server), asked[0])
            begun.add(part.name)
        self.assertEqual(3, len(begun))

    def test_each_test_is_in_one_part_on_sqlite(self):
        rows = [part for part in self.parts.rows.values() if not part.server]
        found = collections.Counter(
            name for part in (self.parts.default, *rows) for name in self.parts.tests(part, self.names)
        )
        self.assertEqual(dict.fromkeys(self.names, 1), dict(found))

    def test_the_default_tier_has_every_kind(self):
        kinds = {name.split('.')[2] for name in self.parts.tests(self.parts.default, self.names)}
        self.assertEqual({name.split('.')[2] for name in self.names}, kinds)
        mine = self.parts.tests(self.parts.default, self.names)
        for form in (
            r'functional\.linux\.test_nfs',
            r'functional\.linux\.test_cifs',
            'functional.linux.test_api_servers',
            'crash.test_matrix',
            'functional.database.test_migrations',
        ):
            where = (
                mine
                if 'migrations' not in form
                else [name for name in self.names if self.parts.servers.has(name)]
            )
            self.assertTrue(
                any(re.match(form, name.removeprefix('manila_lite.tests.')) for name in where), form
            )

    def test_change_names_its_parts(self):
        for path, expected in (
            ('manila_lite/db/models.py', {'upgrades', 'postgresql', 'mariadb'}),
            ('README.rst', set()),
            ('manila_lite/drivers/cephfs/driver.py', {'ceph'}),
            ('doc/source/admin/index.rst', {'pages'}),
        ):
            self.assertEqual(expected, {part.name for part in self.parts.touched([path])})
        for part in self.parts.rows.values():
            for path in part.touched:
                self.assertTrue([*_ROOT.glob(f'{path}*')], f'{part.name}: nothing begins with {path}')


_PACKAGE = """
import os
from manila_lite.tests import limits

def load_tests(loader, tests, pattern):
    return limits.discovered(loader, os.path.dirname(__file__), pattern)
"""
_MODULE = """
import os
import testtools

class Good(testtools.TestCase):
    def test_a(self):
        pass

    def test_b(self):
        self.skipTest('only SQLite has this')

class Bad(testtools.TestCase):
    def test_bad(self):
        if os.environ.get('BAD') == 'dies':
            os._exit(0)
        self.assertNotEqual('fails', os.environ.get('BAD'))
"""


class RunTest(testtools.TestCase):
    """Runs in a tree that has the tool, and two classes of tests."""

    def setUp(self):
        super().setUp()
        self.root = Path(self.useFixture(fixtures.TempDir()).path)
        for path in (
            'tools/tiers.py',
            'manila_lite/tests/limits.py',
            'manila_lite/tests/order.py',
            'manila_lite/tests/spaces.py',
            '.stestr.conf',
        ):
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text((_ROOT / path).read_text())
        (self.root / 'manila_lite/__init__.py').touch()
        (self.root / 'manila_lite/tests/__init__.py').write_text(_PACKAGE)
        (self.root / 'manila_lite/tests/test_it.py').write_text(_MODULE)
        (self.root / 'manila_lite/tests/parts.toml').write_text(
            "[default]\n[servers]\n[sqlite]\n[odd]\ntests = ['test_it\\.Bad']\n"
            f"commands = [['{sys.executable}', '-c', 'import os; assert not os.environ.get(\"BAD\")']]\n"
        )
        self.env = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(('MANILA_LITE_TEST', 'TEST_ORDER', 'OS_TEST'))
            and name not in {'CI', 'PYTHON'}
        }
        self.env |= {
            'PYTHONPATH': str(self.root),
            'PATH': f'{Path(sys.executable).parent}:{os.environ["PATH"]}',
        }
        util.get_repo_initialise(repo_url=str(self.root))
        (self.root / '.gitignore').write_text('.stestr/\n__pycache__/\n')
        self.env |= {
            f'GIT_{who}_{what}': 'n@example.org'
            for who in ('AUTHOR', 'COMMITTER')
            for what in ('NAME', 'EMAIL')
        }
        for words in (['init', '-q'], ['add', '.'], ['commit', '-qm', 'c']):
            self.call('git', *words)

    def call(self, *words, **env):
        return subprocess.run(
            words,
            cwd=self.root,
            env=self.env | env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def tiers(self, *words, **env):
        """Run the tool; return its exit status and its last lines."""
        done = self.call(sys.executable, 'tools/tiers.py', *words, **env)
        lines = done.stdout.splitlines()
        start = next(
            (number for number, line in enumerate(lines) if line.startswith(('skipped ', 'FAILED '))), -1
        )
        return done.returncode, lines[start:]

    def test_chosen_tests_are_counted(self):
        told = ['skipped 1: only SQLite has this', '2 passed, 0 failed, 1 skipped']
        self.assertEqual((0, told), self.tiers('test_it'))
        self.assertEqual((0, told), self.tiers('manila_lite/tests/test_it.py'))

    def test_failure_is_named_once_and_tried_once(self):
        self.assertEqual(
            (1, ['FAILED manila_lite.tests.test_it.Bad.test_bad', '0 passed, 1 failed, 0 skipped']),
            self.tiers('test_it.Bad', BAD='fails'),
        )

    def test_end_of_a_failure_is_shown_beside_the_results(self):
        said = self.call(sys.executable, 'tools/tiers.py', 'test_it.Bad', BAD='fails').stdout
        self.assertIn('manila_lite.tests.test_it.Bad.test_bad failed:\nTraceback', said)
        self.assertLess(said.rindex('Worker Balance'), said.rindex('Traceback'), 'a log ends with it')

    def test_process_that_ends_early_fails_the_run(self):
        status, told = self.tiers('test_it', BAD='dies')
        self.assertEqual(1, status)
        self.assertIn('a process of the tests ended before its last test', '\n'.join(told))

    def test_run_without_tests_fails(self):
        self.assertEqual(
            (1, ['FAILED no test ran', '0 passed, 1 failed, 0 skipped']), self.tiers('nothing_of_the_kind')
        )

    def test_module_that_cannot_be_read_fails_the_run(self):
        (self.root / 'manila_lite/tests/test_broken.py').write_text('import nothing_of_the_kind\n')
        for words in ((), ('--full', 'odd')):
            self.assertEqual(
                (1, ['FAILED the list of all tests', '0 passed, 1 failed, 0 skipped']), self.tiers(*words)
            )

    def test_what_passed_for_a_commit_is_not_run_again(self):
        status, told = self.tiers('--full', 'odd', BAD='fails')
        self.assertEqual((1, '0 passed, 2 failed, 0 skipped'), (status, told[-1]))
        self.assertEqual((0, ['2 passed, 0 failed, 0 skipped']), self.tiers('--full', 'odd'))
        self.assertEqual(
            (0, ['2 passed, 0 failed, 0 skipped']),
            self.tiers('--full', 'odd', BAD='fails'),
            'they count, too',
        )
        (self.root / 'manila_lite/tests/test_it.py').write_text(_MODULE + '# changed\n')
        self.assertEqual((0, ['2 passed, 0 failed, 0 skipped']), self.tiers('--full', 'odd'))

    def test_no_class_begins_after_the_hours(self):
        status, told = self.tiers('--full', 'odd', '--hours', '0.0000001')
        self.assertEqual((0, '0 passed, 0 failed, 2 skipped'), (status, told[-1]))
        self.assertIn('    test_it.Bad', told)


class CloseTest(testtools.TestCase):
    def test_numbers_are_those_of_all_steps(self):
        run = load().Run()
        for words in (['true'], ['true'], ['false']):
            with redirect_stdout(io.StringIO()):
                run.command(words)
        with redirect_stdout(io.StringIO()) as said:
            self.assertEqual(1, run.close())
        self.assertEqual(['FAILED false', '2 passed, 1 failed, 0 skipped'], said.getvalue().splitlines())
