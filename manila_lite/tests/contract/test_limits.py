# SPDX-License-Identifier: Apache-2.0
"""Time limits of tests: tests that hang are ended and fail. Here they are small, with a second each, in processes."""

import io
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import fixtures
import subunit
import testtools
from testtools import matchers

from manila_lite.tests import limits

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

class Skips(testtools.TestCase):
    def test(self):
        with contextlib.suppress(Exception):
            wait_for_nobody()
        self.skipTest('it is not there')

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

def get_stuck():
    lock = ctypes.create_string_buffer(256)
    for _ in range(2):
        ctypes.PyDLL(None).pthread_mutex_lock(lock)

class A(testtools.TestCase):
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
        self.undone = self.place / 'undone'
        self.undone.mkdir()
        (self.place / 'small').mkdir()
        (self.place / 'small/__init__.py').write_text(_PACKAGE)
        self.env = os.environ | {'OS_TEST_TIMEOUT': '1', limits.UNDONE: str(self.undone), 'PYTHONPATH': str(_ROOT)}
        for name in ('PYTHON', 'TEST_ORDER_SEED'):
            self.env.pop(name, None)

    def run_tool(self, *words):
        return subprocess.run([sys.executable, *words], cwd=self.place, env=self.env, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=300, check=False)

    def tally(self, status, results):
        (self.place / 'results').write_bytes(results)
        said = [self.run_tool(str(_ROOT / 'tools/tally.py'), *words, f':{status}:{self.place}/results').stdout.decode()
                for words in ((), ('--again',))]
        return [text.splitlines() for text in said]


class Interrupted(Case):
    """Tests whose main thread can be interrupted."""

    def test_hanging_test_fails_with_the_stacks_of_all_threads(self):
        (self.place / 'small/test_waiting.py').write_text(_WAITING)
        done = self.run_tool('-m', 'stestr.subunit_runner.run', 'discover', '-t', '.', 'small')
        names = [f'small.test_waiting.{name}.test' for name in ('Fails', 'Plain', 'Skips', 'Swallows', 'Waits')]
        told, again = self.tally(0, done.stdout)
        causes, told = told[:6], told[6:]
        late = r'failed 1: manila_lite\.tests\.limits\.TooLong: it took more than %s seconds, the last in .* wait < .*'
        self.assertThat(causes, matchers.MatchesSetwise(*(
            matchers.MatchesRegex(late % seconds + f'test_waiting:[0-9]+ wait_for_nobody < test_waiting:[0-9]+ {method}')
            for seconds, method in (*[('1', 'test')] * 5, ('2.5', 'setUpClass')))))
        self.assertEqual(['FAILED setUpClass (small.test_waiting.SetsUp)', *(f'FAILED {name}' for name in names),
                          '0 passed, 6 failed, 0 skipped'], told)
        self.assertEqual([''], again, 'what hung gets no second try')
        self.assertEqual([], list(self.undone.iterdir()))
        self.assert_reports(done.stdout, names)

    def assert_reports(self, stream, names):
        tests = []
        result = testtools.StreamToDict(tests.append)
        result.startTestRun()
        subunit.ByteStreamToStreamResult(io.BytesIO(stream)).run(result)
        result.stopTestRun()
        reports = {test['id']: ''.join(detail.as_text() for detail in test['details'].values()) for test in tests}
        for name in names:
            main, _, others = reports[name].partition('TooLong: ')
            self.assertIn('in wait_for_nobody\n', main)
            if 'Waits' in name:
                self.assertRegex(others, r'(?s)Thread aside:\n.* in wait_for_nobody\n')
        self.assertIn('status 500', reports['small.test_waiting.Fails.test'])


class Ended(Case):
    """Tests whose main thread never returns."""

    def test_process_exit_while_loading_tests_is_recorded(self):
        (self.place / 'small/test_gone.py').write_text('import os\n\nos._exit(0)\n')
        self.assertEqual(0, self.run_tool('-m', 'stestr.subunit_runner.run', 'discover', '-t', '.', 'small').returncode)
        self.assertEqual(1, len(list(self.undone.iterdir())))
        self.run_tool('-m', 'stestr.subunit_runner.run', 'discover', '-t', '.', 'small', '--list')
        self.assertEqual(1, len(list(self.undone.iterdir())), 'a list is no run')

    def assert_ends(self, stuck, *more):
        body = _STUCK.format(stuck=textwrap.dedent(stuck).replace('\n', '\n    '))
        (self.place / 'small/test_stuck.py').write_text(body)
        (self.place / '.stestr.conf').write_text('[DEFAULT]\ntest_path=./small\ntop_dir=.\n')
        self.run_tool('-m', 'stestr', 'init')
        done = self.run_tool('-m', 'stestr', 'run', '--serial')
        self.assertRegex(done.stderr.decode(), r'Timeout \(.*\n(.*\n)* .* in get_stuck\n')
        self.assertEqual(1, len(list(self.undone.iterdir())), 'it did not go to its end')
        died = 'the run itself: a process ended before its last test, so there are tests that did not run'
        told, again = self.tally(70, self.run_tool('-m', 'stestr', 'last', '--subunit').stdout)
        *told, plain = told
        self.assertEqual([*more, f'FAILED {died}'], told)
        self.assertEqual(f'1 passed, {1 + len(more) // 2} failed, 0 skipped', plain)
        self.assertEqual([''], again, 'a second try would not run those that are lost')

    def test_stuck_test_ends_its_process_and_fails(self):
        self.assert_ends(_IN_A_TEST, 'failed 1: no report: its process ended', 'FAILED small.test_stuck.B.test')

    def test_stuck_class_set_up_ends_its_process_and_fails_the_run(self):
        self.assert_ends(_IN_A_CLASS)


class All(Case):

    def test_all_discovered_tests_have_a_time_limit(self):
        """Every test that stestr finds in our package is in a suite with limits."""
        script = """if True:
            import sys, unittest
            from manila_lite.tests import limits
            found = unittest.TestLoader().discover(sys.argv[1], 'test_tally.py', sys.argv[2])
            suites = [found]
            for suite in suites:
                if not isinstance(suite, limits.Suite):
                    suites += [one for one in suite if isinstance(one, unittest.TestSuite)]
                    assert not [one for one in suite if isinstance(one, unittest.TestCase)]
            limited = [suite for suite in suites if isinstance(suite, limits.Suite)]
            print(found.countTestCases() > 5, found.countTestCases() == sum(suite.countTestCases() for suite in limited))
        """
        done = self.run_tool('-c', script, str(_ROOT / 'manila_lite/tests'), str(_ROOT))
        self.assertEqual('True True', done.stdout.decode().strip(), done.stderr.decode())
