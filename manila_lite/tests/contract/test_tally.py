# SPDX-License-Identifier: Apache-2.0
"""The last lines of tools/test tell the truth, over all its runs."""

import io
import subprocess
import sys
from pathlib import Path

import fixtures
import subunit
import testtools
from testtools import content

TOOL = Path(__file__).resolve().parents[3] / 'tools' / 'tally.py'


class TallyTest(testtools.TestCase):

    def stream(self, **tests):
        """Return the path of results: name to status and reason."""
        out = io.BytesIO()
        result = testtools.ExtendedToStreamDecorator(subunit.StreamResultToBytes(out))
        result.startTestRun()
        for name, (status, why) in tests.items():
            test = testtools.PlaceHolder(name)
            result.startTest(test)
            kind = 'reason' if status == 'addSkip' else 'traceback'
            getattr(result, status)(test, **({'details': {kind: content.text_content(why)}} if why else {}))
            result.stopTest(test)
        result.stopTestRun()
        path = Path(self.useFixture(fixtures.TempDir()).path) / 'results'
        path.write_bytes(out.getvalue())
        return path

    def tally(self, *runs):
        done = subprocess.run([sys.executable, str(TOOL), *runs], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=60, check=False)
        self.assertEqual('', done.stderr)
        return done.returncode, done.stdout.splitlines()

    def test_counts_over_all_runs(self):
        first = self.stream(a=('addSuccess', ''), b=('addSkip', 'no root'))
        second = self.stream(a=('addSuccess', ''), b=('addSuccess', ''))
        self.assertEqual((0, ['skipped 1: no root', '3 passed, 0 failed, 1 skipped']),
                         self.tally(f':0:{first}', f'mariadb:0:{second}'))

    def test_failures_are_named_with_their_database(self):
        good = self.stream(a=('addSuccess', ''))
        report = 'Traceback (most recent call last):\n  File "x.py"\nsome.Error: it was "a"\nserver.log: Error: no'
        bad = self.stream(a=('addFailure', report), b=('addSuccess', ''), c=('addError', report), d=('addError', ' '))
        self.assertEqual((1, ['failed 2: some.Error: it was "a" [mariadb]', 'failed 1: no report, fail [mariadb]',
                              'FAILED a [mariadb]', 'FAILED c [mariadb]', 'FAILED d [mariadb]',
                              '2 passed, 3 failed, 0 skipped']),
                         self.tally(f':0:{good}', f'mariadb:1:{bad}'))

    def test_a_run_in_which_nothing_ran_has_failed(self):
        good = self.stream(a=('addSuccess', ''))
        for status in (0, 1):
            self.assertEqual((1, [f'FAILED the run itself: 0 tests, runner exit code {status} [postgresql]',
                                  '1 passed, 1 failed, 0 skipped']),
                             self.tally(f':0:{good}', f'postgresql:{status}:/dev/null'))

    def test_a_runner_that_fails_without_a_failed_test(self):
        good = self.stream(a=('addSuccess', ''))
        self.assertEqual((1, ['FAILED the run itself: 1 tests, runner exit code 3', '1 passed, 1 failed, 0 skipped']),
                         self.tally(f':3:{good}'))

    def test_a_server_that_is_not_installed_is_a_skip(self):
        good = self.stream(a=('addSuccess', ''))
        self.assertEqual((0, ['skipped 1: the tests [mariadb]: a server is not installed', '1 passed, 0 failed, 1 skipped']),
                         self.tally(f':0:{good}', 'mariadb:77:/dev/null'))

    def test_what_failed_is_tried_once_more(self):
        first = self.stream(a=('addSuccess', ''), b=('addFailure', 'Traceback (most recent call last):\n  File\nLate: b'),
                            **{'setUpClass (m.C)': ('addError', 'Traceback (most recent call last):\n  File\nLate: C')})
        self.assertEqual((0, [r'^b$', r'^m\.C\.']), self.tally('--again', f':1:{first}'))
        good = self.stream(**{'b': ('addSuccess', ''), 'm.C.test': ('addSuccess', '')})
        told = 'failed at first, passed when tried again alone'
        self.assertEqual((0, [f'{told}: b: Late: b', f'{told}: setUpClass (m.C): Late: C', '3 passed, 0 failed, 0 skipped']),
                         self.tally(f':1:{first}:0:{good}'))
        bad = self.stream(**{'b': ('addFailure', ' '), 'm.C.test': ('addSuccess', '')})
        self.assertEqual((1, ['failed 1: no report, fail', 'FAILED b', f'{told}: setUpClass (m.C): Late: C',
                              '2 passed, 1 failed, 0 skipped']), self.tally(f':1:{first}:1:{bad}'))
        together = self.stream(**{f'm.C.test_{number:02}': ('addFailure', ' ') for number in range(29)})
        self.assertEqual(29, len(self.tally('--again', f':1:{together}')[1]))
        # The second try never began: nothing is mended by that.
        self.assertEqual(1, self.tally(f':1:{first}:1:/dev/null')[0])

    def test_what_is_not_worth_another_try(self):
        many = self.stream(**{f'm.C{number}.test': ('addFailure', ' ') for number in range(11)})
        self.assertEqual((0, ['']), self.tally('--again', f':1:{many}'))
        of_one = self.stream(**{f'm.C.test_{number:03}': ('addFailure', ' ') for number in range(101)})
        self.assertEqual((0, ['']), self.tally('--again', f':1:{of_one}'))
        self.assertEqual((0, ['']), self.tally('--again', ':1:/dev/null'))

    def test_no_run_at_all(self):
        self.assertEqual((1, ['FAILED no run', '0 passed, 1 failed, 0 skipped']), self.tally())
