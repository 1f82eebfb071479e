# SPDX-License-Identifier: Apache-2.0
"""The last lines of tools/test are right, over all its runs."""

import io
import re
import subprocess
import sys
from pathlib import Path

import fixtures
import subunit
import testtools
from testtools import content

from manila_lite.tests import limits

TOOL = Path(__file__).resolve().parents[3] / 'tools' / 'tally.py'


class TallyTest(testtools.TestCase):

    def stream(self, **tests):
        """Return the path of a file of results, made from name to status and reason."""
        out = io.BytesIO()
        result = testtools.ExtendedToStreamDecorator(subunit.StreamResultToBytes(out))
        result.startTestRun()
        for name, (status, why) in tests.items():
            test = testtools.PlaceHolder(name)
            result.startTest(test)
            kind = 'reason' if status == 'addSkip' else 'traceback'
            getattr(result, status)(test, details={kind: content.text_content(why)} if why else {})
            result.stopTest(test)
        result.stopTestRun()
        path = Path(self.useFixture(fixtures.TempDir()).path) / 'results'
        path.write_bytes(out.getvalue())
        return path

    def tally(self, *runs):
        done = subprocess.run([sys.executable, str(TOOL), *runs], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=300, check=False)
        self.assertEqual('', done.stderr)
        return done.returncode, done.stdout.splitlines()

    def test_counts_are_summed_over_all_runs(self):
        first = self.stream(a=('addSuccess', ''), b=('addSkip', 'no root'))
        second = self.stream(a=('addSuccess', ''), b=('addSuccess', ''))
        self.assertEqual((0, ['skipped 1: no root', '3 passed, 0 failed, 1 skipped']),
                         self.tally(f':0:{first}', f'mariadb:0:{second}'))

    def test_failures_are_reported_with_their_database(self):
        good = self.stream(a=('addSuccess', ''))
        report = 'Traceback (most recent call last):\n  File "x.py"\nsome.Error: it was "a"\nserver.log: Error: no'
        bad = self.stream(a=('addFailure', report), b=('addSuccess', ''), c=('addError', report), d=('addError', ' '))
        self.assertEqual((1, ['failed 2: some.Error: it was "a" [mariadb]', 'failed 1: no report, fail [mariadb]',
                              'FAILED a [mariadb]', 'FAILED c [mariadb]', 'FAILED d [mariadb]',
                              '2 passed, 3 failed, 0 skipped']),
                         self.tally(f':0:{good}', f'mariadb:1:{bad}'))

    def test_run_without_tests_fails(self):
        good = self.stream(a=('addSuccess', ''))
        for status in (0, 1):
            self.assertEqual((1, [f'FAILED the run itself: 0 tests, runner exit code {status} [postgresql]',
                                  '1 passed, 1 failed, 0 skipped']),
                             self.tally(f':0:{good}', f'postgresql:{status}:/dev/null'))

    def test_runner_that_fails_without_a_failed_test_fails_the_run(self):
        good = self.stream(a=('addSuccess', ''))
        self.assertEqual((1, ['FAILED the run itself: 1 tests, runner exit code 3', '1 passed, 1 failed, 0 skipped']),
                         self.tally(f':3:{good}'))

    def test_failed_step_outside_the_tests_is_reported(self):
        good = self.stream(a=('addSuccess', ''))
        self.assertEqual((1, ['FAILED the guards', '1 passed, 1 failed, 0 skipped']), self.tally('--failed', 'the guards',
                                                                                               f':0:{good}'))

    def test_server_that_is_not_installed_is_counted_as_a_skip(self):
        good = self.stream(a=('addSuccess', ''))
        self.assertEqual((0, ['skipped 1: the tests [mariadb]: a server is not installed', '1 passed, 0 failed, 1 skipped']),
                         self.tally(f':0:{good}', 'mariadb:77:/dev/null'))

    def test_failed_tests_are_retried_once(self):
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
        # A second run that never began, or that skipped the test, mends nothing.
        self.assertEqual(1, self.tally(f':1:{first}:1:/dev/null')[0])
        skipped = self.stream(**{'b': ('addSkip', 'it is gone'), 'm.C.test': ('addSkip', 'it is gone')})
        self.assertEqual('1 passed, 2 failed, 1 skipped', self.tally(f':1:{first}:0:{skipped}')[1][-1])
        self.assertIn('FAILED m.C.test', self.tally('--strict', f':1:{first}:0:{skipped}')[1])

    def test_failed_scenario_is_retried_with_its_whole_test(self):
        first = self.stream(**{'m.C.t(Slow)': ('addFailure', 'x'), 'm.C.t(Fast)': ('addSuccess', ''),
                               'm.C.u': ('addSuccess', '')})
        self.assertEqual((0, [r'^m\.C\.t(\(|$)']), self.tally('--again', f':1:{first}'))
        for slow, fast, ended in (('addSuccess', 'addSuccess', '3 passed, 0 failed, 0 skipped'),
                                  ('addFailure', 'addSuccess', '2 passed, 1 failed, 0 skipped'),
                                  ('addSuccess', 'addFailure', '2 passed, 1 failed, 0 skipped')):
            second = self.stream(**{'m.C.t(Slow)': (slow, ''), 'm.C.t(Fast)': (fast, '')})
            self.assertEqual(ended, self.tally(f':1:{first}:{int("Failure" in slow + fast)}:{second}')[1][-1])

    def test_test_that_passes_only_on_retry_fails_a_first_try_run(self):
        report = 'Traceback (most recent call last):\n  File\nLate: b'
        first = self.stream(a=('addSuccess', ''), b=('addFailure', report), c=('addSkip', 'no root'),
                            **{'setUpClass (m.C)': ('addError', report)})
        good = self.stream(**{'b': ('addSuccess', ''), 'm.C.test': ('addSuccess', '')})
        run = f'x:1:{first}:0:{good}'
        self.assertEqual(0, self.tally(run)[0])
        self.assertEqual((1, ['skipped 1: no root [x]', 'failed 2: passed only when tried again alone: Late: b [x]',
                              'FAILED b [x]', 'FAILED setUpClass (m.C) [x]', '2 passed, 2 failed, 1 skipped']),
                         self.tally('--first-try', run))
        self.assertIn('FAILED c [x]', self.tally('--first-try', '--strict', run)[1])
        well = self.stream(a=('addSuccess', ''))
        self.assertEqual((0, ['1 passed, 0 failed, 0 skipped']), self.tally('--first-try', f':0:{well}'))

    def test_retry_of_an_emulated_machine_test_is_allowed_in_a_first_try_run(self):
        slow = 'manila_lite.tests.functional.linux.test_kernel_client.KernelClient.test_mount'
        first = self.stream(**{slow: ('addFailure', ' '), 'b': ('addFailure', ' ')})
        good = self.stream(**{slow: ('addSuccess', ''), 'b': ('addSuccess', '')})
        code, told = self.tally('--first-try', f':1:{first}:0:{good}')
        self.assertEqual((1, '1 passed, 1 failed, 0 skipped'), (code, told[-1]))
        self.assertIn('FAILED b', told)
        self.assertIn(f'failed at first, passed when tried again alone: {slow}: no report, fail', told)

    def test_modules_with_an_allowed_retry_exist(self):
        text = TOOL.read_text()
        modules = re.findall(r"'((?:\w+\.)*test_\w+)'", text[text.index('\nSECOND_TRY'):text.index('#: Begin of the report')])
        self.assertTrue(modules)
        for module in modules:
            path = TOOL.parents[1] / 'manila_lite/tests/functional' / module.replace('.', '/')
            self.assertTrue(path.with_suffix('.py').is_file(), module)

    def test_many_failures_and_empty_runs_are_not_retried(self):
        many = self.stream(**{f'm.C{number}.test': ('addFailure', ' ') for number in range(11)})
        self.assertEqual((0, ['']), self.tally('--again', f':1:{many}'))
        of_one = self.stream(**{f'm.C.test_{number:03}': ('addFailure', ' ') for number in range(101)})
        self.assertEqual((0, ['']), self.tally('--again', f':1:{of_one}'))
        self.assertEqual((0, ['']), self.tally('--again', ':1:/dev/null'))

    def test_a_skip_that_is_not_permitted_fails_a_strict_run(self):
        first = self.stream(a=('addSuccess', ''), b=('addSkip', 'needs root,\nand more'),
                            c=('addSkip', 'linux is no UpdatesSecurityServices'), d=('addSkip', 'there is no Nova'))
        good = 'skipped 1: linux is no UpdatesSecurityServices [x]'
        self.assertEqual((0, [good, 'skipped 1: needs root,', 'and more [x]', 'skipped 1: there is no Nova [x]',
                              '1 passed, 0 failed, 3 skipped']), self.tally(f'x:0:{first}'))
        self.assertEqual((1, [good, 'failed 1: skipped: needs root, and more [x]',
                              'failed 1: skipped: there is no Nova [x]', 'FAILED b [x]', 'FAILED d [x]',
                              '1 passed, 2 failed, 1 skipped']), self.tally('--strict', f'x:0:{first}'))
        self.assertEqual((0, ['']), self.tally('--again', f'x:0:{first}'))

    def test_a_server_that_is_not_installed_fails_a_strict_run(self):
        good = self.stream(a=('addSuccess', ''))
        self.assertEqual((1, ['FAILED the run itself: a server is not installed [mariadb]', '1 passed, 1 failed, 0 skipped']),
                         self.tally('--strict', f':0:{good}', 'mariadb:77:/dev/null'))

    def test_permitted_skip_reasons_are_those_given_by_tests(self):
        """Each row of the table matches a reason that a test gives, and no reason of a missing program."""
        reasons = ['only MariaDB has columns that compare inexactly by default',
                   'the driver does not promise mount_point_name_support',
                   'it is about SQLite, on which CI tries it', 'linux is no UpdatesSecurityServices',
                   'it is about a SQLite file that several hosts use, which CI tries on SQLite']
        missing = ['real storage needs root', 'no reason given', 'PostgreSQL or RabbitMQ is not installed', 'there is no Nova',
                   'libvirtd cannot run here: it is about SQLite', 'linux is no Replicates']
        every = self.stream(**{why: ('addSkip', why) for why in reasons + missing})
        told = self.tally('--strict', f':0:{every}')[1]
        self.assertEqual({f'FAILED {why}' for why in missing}, {line for line in told if line.startswith('FAILED')})
        self.assertEqual({f'skipped 1: {why}' for why in reasons}, {line for line in told if line.startswith('skipped')})
        tests = (TOOL.parents[1] / 'manila_lite/tests').rglob('*.py')
        said = ''.join(path.read_text() for path in tests if path.name != 'test_tally.py')
        for why in reasons:
            self.assertIn(re.sub('^(dummy|linux) is no .*', "{self.DRIVER} is no {ability.__name__}", why), said)

    def test_run_that_ended_early_fails_and_is_not_retried(self):
        bad = self.stream(a=('addSuccess', ''), b=('addFailure', ''))
        died = 'FAILED the run itself: a process ended before its last test, so there are tests that did not run'
        self.assertEqual((0, ['']), self.tally('--again', f':70:{bad}'))
        self.assertEqual((1, ['failed 1: no report: its process ended', 'FAILED b', died, '1 passed, 2 failed, 0 skipped']),
                         self.tally(f':70:{bad}'))
        good = self.stream(a=('addSuccess', ''))
        self.assertEqual((1, [died, '1 passed, 1 failed, 0 skipped']), self.tally(f':70:{good}'))

    def test_timeout_is_reported_as_the_cause_and_not_retried(self):
        end = f'{limits.TooLong.__module__}.TooLong: it took more than 600 seconds\nOther threads:\nnone'
        report = 'Traceback (most recent call last):\n  File "x.py"\n'
        bad = self.stream(a=('addError', f'{report}ValueError: 500\n\n{report}{end}'),
                          b=('addError', f'{report}ValueError: 500'))
        self.assertEqual((0, ['^b$']), self.tally('--again', f':1:{bad}'))
        self.assertIn('failed 1: manila_lite.tests.limits.TooLong: it took more than 600 seconds', self.tally(f':1:{bad}')[1])

    def test_tally_without_runs_fails(self):
        self.assertEqual((1, ['FAILED no run', '0 passed, 1 failed, 0 skipped']), self.tally())
