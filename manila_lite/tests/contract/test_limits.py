# SPDX-License-Identifier: Apache-2.0
"""Rules for every test: limits, skips in CI, the end by the clock. Small tests in processes: a second each."""

import io
import os
import subprocess
import sys
import textwrap
import time
import unittest
from pathlib import Path

import fixtures
import subunit
import testtools

from manila_lite.tests import limits, waiting

_ROOT = Path(__file__).resolve().parents[3]

#: The package of the small tests is loaded like ours.
_PACKAGE = """
import os
from manila_lite.tests import limits

def load_tests(loader, tests, pattern):
    return limits.discovered(loader, os.path.dirname(__file__), pattern)
"""

_WAITING = """
import contextlib, threading, time, unittest
import testtools
from manila_lite.tests import limits

limits._LAST = 300.0  # the stacks need time on a busy machine

def wait_for_nobody():
    threading.Event().wait()

class Waits(testtools.TestCase):
    def test(self):
        threading.Thread(target=wait_for_nobody, daemon=True, name='aside').start()
        wait_for_nobody()

class Swallows(testtools.TestCase):
    def test(self):
        with contextlib.suppress(Exception):
            wait_for_nobody()

class Fails(testtools.TestCase):
    def test(self):
        with contextlib.suppress(Exception):
            wait_for_nobody()
        self.fail('status 500')

class Plain(unittest.TestCase):
    def test(self):
        wait_for_nobody()

class SetsUp(testtools.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        wait_for_nobody()

    def test(self):
        pass
"""

#: Takes a lock in C twice, while no other thread can run Python: no signal helps.
_STUCK = """
import ctypes
import testtools
from manila_lite.tests import limits

limits.BETWEEN = {between}

def get_stuck():
    lock = ctypes.create_string_buffer(256)
    for _ in range(2):
        ctypes.PyDLL(None).pthread_mutex_lock(lock)

class A(testtools.TestCase):
    LIMITS = 300.0

    def test(self):
        pass

class B(testtools.TestCase):
    {stuck}

class C(testtools.TestCase):
    def test(self):
        pass
"""
_IN_A_TEST = """
    def test(self):
        get_stuck()
"""
_IN_A_CLASS = """
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        get_stuck()

    def test(self):
        pass
"""


class Case(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.place = Path(self.useFixture(fixtures.TempDir()).path)
        (self.place / 'progress').mkdir()
        (self.place / 'small').mkdir()
        (self.place / 'small/__init__.py').write_text(_PACKAGE)
        self.env = os.environ | {'PYTHONPATH': str(_ROOT)}
        self.env[limits.PROGRESS] = str(self.place / 'progress')
        for name in ('PYTHON', 'TEST_ORDER_SEED', 'CI', 'OS_TEST_TIMEOUT', limits.UNTIL):
            self.env.pop(name, None)

    def run_tests(self, text, *words):
        """Run the small tests of a module; return their results by name, and what the process said on standard error."""
        (self.place / 'small/test_it.py').write_text(text)
        done = subprocess.run(
            [sys.executable, '-m', 'stestr.subunit_runner.run', 'discover', '-t', '.', 'small', *words],
            cwd=self.place,
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=waiting.LIMIT,
        )
        tests = []
        result = testtools.StreamToDict(tests.append)
        result.startTestRun()
        subunit.ByteStreamToStreamResult(io.BytesIO(done.stdout), non_subunit_name='stdout').run(result)
        result.stopTestRun()
        return {
            test['id'].removeprefix('small.test_it.'): test
            for test in tests
            if test['id'] and test['status'] != 'exists'
        }, '\n'.join(file.read_text() for file in (self.place / 'progress').glob('*.said'))

    def progress(self, suffix):
        """Return the tests that the processes noted in their files with this suffix, for each file."""
        return [file.read_text().split() for file in (self.place / 'progress').glob(f'*.{suffix}')]


def statuses(tests):
    return {name: test['status'] for name, test in tests.items()}


def told(test):
    return ''.join(detail.as_text() for detail in test['details'].values())


class Limits(Case):
    def setUp(self):
        super().setUp()
        self.env['OS_TEST_TIMEOUT'] = '1'

    def test_hanging_test_fails_with_the_stacks_of_all_threads(self):
        tests, _ = self.run_tests(_WAITING)
        names = [f'{name}.test' for name in ('Fails', 'Plain', 'Swallows', 'Waits')]
        self.assertEqual(
            {'setUpClass (small.test_it.SetsUp)': 'fail'} | dict.fromkeys(names, 'fail'), statuses(tests)
        )
        for name in names:
            self.assertIn(
                'it took more than 1 seconds' if name != 'Fails.test' else 'status 500', told(tests[name])
            )
        for part in ('in wait_for_nobody', 'Thread aside:'):
            self.assertIn(part, told(tests['Waits.test']))
        self.assertEqual([[]], self.progress('ended'), 'none passed')

    def assert_ends(self, stuck, expected, between):
        tests, said = self.run_tests(
            _STUCK.format(stuck=textwrap.dedent(stuck).replace('\n', '\n    '), between=between)
        )
        self.assertRegex(said, r'Timeout \(.*\n(.*\n)* .* in get_stuck\n')
        self.assertEqual(expected, statuses(tests))
        self.assertEqual([['small.test_it.A.test']], self.progress('begun'), 'it did not go to its end')

    def test_stuck_test_ends_its_process(self):
        self.assert_ends(_IN_A_TEST, {'A.test': 'success', 'B.test': 'inprogress'}, 300.0)

    def test_stuck_class_set_up_ends_its_process(self):
        self.assert_ends(_IN_A_CLASS, {'A.test': 'success'}, limits.BETWEEN)

    def test_process_that_ends_while_it_loads_tests_is_noted(self):
        self.run_tests('import os\n\nos._exit(0)\n', '--list')
        self.assertEqual([], self.progress('begun'), 'a list is no run')
        self.run_tests('import os\n\nos._exit(0)\n')
        self.assertEqual([[]], self.progress('begun'))


#: It leaves a daemon, which would keep the output of the tests open, and looks for one of another process of tests.
_DAEMONS = """
import glob, os, pathlib, subprocess
import testtools

class A(testtools.TestCase):
    def test(self):
        daemon = subprocess.Popen(['sleep', 'infinity'], start_new_session=True)
        while not pathlib.Path(f'/proc/{daemon.pid}/cmdline').read_bytes():
            pass    # the kernel has the new program, and not yet its words
        words = [pathlib.Path(path).read_bytes() for path in glob.glob('/proc/[0-9]*/cmdline')]
        self.assertEqual(1, sum(b'sleep' in each for each in words), words)
        if os.environ.get('KILLED'):
            os.kill(os.getpid(), 9)
"""


@unittest.skipIf(os.geteuid(), 'namespaces need root')
class Daemons(Case):
    def test_daemons_of_others_are_not_seen_and_end_with_the_tests(self):
        other = subprocess.Popen(['sleep', 'infinity'])
        self.addCleanup(other.wait, waiting.LIMIT)
        self.addCleanup(other.kill)
        tests, _ = self.run_tests(_DAEMONS)
        self.assertEqual({'A.test': 'success'}, statuses(tests), told(tests['A.test']))
        self.assertIsNone(other.poll())

    def test_daemons_end_if_the_tests_are_killed(self):
        self.env['KILLED'] = 'yes'
        self.assertEqual({'A.test': 'inprogress'}, statuses(self.run_tests(_DAEMONS)[0]))
        # A developer runs one module, and cuts it off.
        subprocess.run(
            [sys.executable, '-m', 'testtools.run', 'small.test_it'],
            cwd=self.place,
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=waiting.LIMIT,
        )


_SKIPS = """
import testtools

class A(testtools.TestCase):
    def test_missing(self):
        self.skipTest('no NFS-Ganesha here')

    def test_no_matter(self):
        self.skipTest('only MariaDB has fractions of seconds')

class B(testtools.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        raise cls.skipException('no NFS-Ganesha here')

    def test(self):
        pass
"""


class Skips(Case):
    def test_a_skip_for_want_of_something_fails_in_ci_alone(self):
        tests, _ = self.run_tests(_SKIPS)
        self.assertEqual({'skip'}, set(statuses(tests).values()))
        self.env['CI'] = 'true'
        tests, _ = self.run_tests(_SKIPS)
        self.assertEqual(
            {'A.test_missing': 'fail', 'A.test_no_matter': 'skip', 'setUpClass (small.test_it.B)': 'fail'},
            statuses(tests),
        )
        self.assertIn('skipped: no NFS-Ganesha here', told(tests['A.test_missing']))

    def test_no_class_begins_after_the_end_by_the_clock(self):
        self.env[limits.UNTIL] = str(time.time() - 1)
        self.env['CI'] = 'true'
        tests, _ = self.run_tests(_SKIPS)
        self.assertEqual({limits.NOT_REACHED}, {told(test) for test in tests.values()})
        self.assertEqual(['skip'] * 3, [*statuses(tests).values()])

    def test_permitted_reasons_are_those_given_by_tests(self):
        """A reason that was reworded would fail in CI; one that no test gives is no use."""
        texts = '\n'.join(
            path.read_text()
            for path in (_ROOT / 'manila_lite/tests').rglob('*.py')
            if path.name not in {'limits.py', 'test_limits.py'}
        )
        for why in ('only MariaDB has', 'it is about a SQLite', 'this tree has no history'):
            self.assertIn(why, texts)


class All(Case):
    def test_all_discovered_tests_have_a_time_limit(self):
        """Every test that stestr finds in our package is in a suite with limits."""
        script = """if True:
            import sys, unittest
            from manila_lite.tests import limits
            found = unittest.TestLoader().discover(sys.argv[1], 'test_order.py', sys.argv[2])
            suites = [found]
            for suite in suites:
                if not isinstance(suite, limits.Suite):
                    suites += [one for one in suite if isinstance(one, unittest.TestSuite)]
                    assert not [one for one in suite if isinstance(one, unittest.TestCase)]
            limited = [suite for suite in suites if isinstance(suite, limits.Suite)]
            print(found.countTestCases() > 5, found.countTestCases() == sum(suite.countTestCases() for suite in limited))
        """
        done = subprocess.run(
            [sys.executable, '-c', script, str(_ROOT / 'manila_lite/tests'), str(_ROOT)],
            env=self.env,
            cwd=self.place,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=waiting.LIMIT,
            check=False,
        )
        self.assertEqual('True True', done.stdout.decode().strip(), done.stderr.decode())
