#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Count the tests of one or more runs: tools/tally.py [--again | [--strict] [--first-try] [--failed WHAT]] RUN...

A RUN is ``NAME:STATUS:FILE[:STATUS:FILE]``: its name ('' for the plain run), the exit code of the test runner, and its
results as subunit; then the same two values of a second try of the failed tests. Prints the reasons of skipped tests and of
failures, the failed tests with their errors, and the tests that failed at the first try only. The last line sums up all
runs: ``N passed, N failed, N skipped``. Exit code 1 if a test failed, or if no test ran in one of the runs.
With ``--again`` it prints regular expressions of the tests that are worth a second try, if they are few.
With ``--strict`` a skipped test counts as failed, unless the reason is in the table ``PERMITTED``.
With ``--first-try`` a test that failed at the first try counts as failed, even if it passed at the second, unless it is in
the table ``SECOND_TRY``.
With ``--failed WHAT`` WHAT, a check that is not a test, counts as failed.
"""

import argparse
import collections
import dataclasses
import functools
import itertools
import pathlib
import re
import sys
from collections.abc import Iterable, Sequence
from typing import BinaryIO

import subunit
import testtools

FAILED = {'fail', 'uxsuccess', 'inprogress', 'missed', 'mended'}
#: Exit code of a run that could not take place because a program is not installed.
MISSING = 77
#: tools/test passes this code for a run in which a process ended before its last test.
DIED = 70
#: Permitted reasons of skips where all programs are installed: the test does not apply. Each has a meaning, and the
#: whole text that the test gives. A missing program, package, right or device is no such reason.
PERMITTED = {
    'it is about another database than that of this run':
        re.compile(r'only (SQLite|MariaDB|PostgreSQL) has .*|it is about (a )?SQLite\b.*'),
    'the driver does not claim this ability, and need not': re.compile(r'linux is no UpdatesSecurityServices'),
    'the tree is a shallow clone, or none': re.compile('this tree has no history, so no earlier release is in it'),
    'the driver does not promise this of its pools': re.compile('the driver does not promise mount_point_name_support'),
}
#: Modules whose tests may need a second try, by the reason. A race in the product is no such reason.
SECOND_TRY = {
    'an emulated machine may be slower than any limit beside other load': tuple(
        f'manila_lite.tests.functional.{module}' for module in (
            'linux.test_kernel_client', 'linux.test_kernel_backups', 'linux.test_kernel_cifs', 'linux.test_cluster_nodes',
            'linux.test_cluster_servers', 'siblings.compute.test_qemu_driver', 'siblings.compute.test_qemu_guests',
            'siblings.compute.test_libvirt', 'test_quickstart')),
}
#: Begin of the report of a test that took too long: see manila_lite/tests/limits.py.
TOO_LONG = 'manila_lite.tests.limits.TooLong: '
#: Most characters of a cause.
LONGEST = 300
#: More failures than these, each class counted as one, are no accident of a busy machine.
FEW = 10
#: Nor are more tests than these.
MANY = 100


@dataclasses.dataclass
class Run:
    """One run of the tests. ``where``: its name in the report; ``tests``: its results."""

    where: str
    status: int
    tests: list[dict]
    #: Tests that failed at the first try, and passed at the second.
    mended: list[dict] = dataclasses.field(default_factory=list)
    #: Whether a server that is not installed is a failure.
    strict: bool = False

    def strictly(self) -> 'Run':
        """Return the same run with skips without a permitted reason as failures."""
        tests = [test | {'status': 'missed'} if test['status'] == 'skip' and not permitted(reason(test)) else test
                 for test in self.tests]
        return dataclasses.replace(self, tests=tests, strict=True)

    def at_first(self) -> 'Run':
        """Return the same run with tests that passed only at the second try, and should not need one, as failures."""
        bad = [test | {'status': 'mended'} for test in self.mended if not may_need_two(test['id'])]
        names = {test['id'] for test in bad}
        return dataclasses.replace(self, tests=[test for test in self.tests if test['id'] not in names] + bad,
                                   mended=[test for test in self.mended if test['id'] not in names])

    def worth_another_try(self) -> list[str]:
        """Return regular expressions of the failed tests, if they are few and the run went to its end.

        A test that took too long is not tried again.
        """
        bad = [test for test in self.tests if test['status'] in FAILED]
        if len(bad) > MANY or len({group(test['id']) for test in bad}) > FEW or any(test['status'] != 'fail' for test in bad):
            return []
        if self.status == DIED:
            return []
        return sorted({expression(test['id']) for test in bad if TOO_LONG not in report(test)})

    def after(self, second: 'Run') -> 'Run':
        """Return the run with the results of a second try of its failed tests."""
        # A test that is skipped now was not tried.
        ran = [test for test in second.tests if test['status'] != 'skip']

        def of(test: dict) -> list[str]:
            return [again['status'] for again in ran if re.search(expression(test['id']), again['id'])]
        tried = [test for test in self.tests if test['status'] in FAILED and of(test)]
        known = {test['id'] for test in self.tests}
        new = [test for test in second.tests if test['status'] == 'skip' and test['id'] not in known]
        both = {test['id']: test for test in [*(test for test in self.tests if test not in tried), *ran, *new]}
        return Run(self.where, second.status, list(both.values()), [test for test in tried if not FAILED & {*of(test)}])

    @property
    def failed(self) -> list[str]:
        """Return the names of failed tests, and of the run itself if it failed, each with the run."""
        names = sorted(test['id'] for test in self.tests if test['status'] in FAILED)
        return [f'{name}{self.where}' for name in [*names, *self._own_failure(bool(names))]]

    def _own_failure(self, explained: bool) -> Iterable[str]:
        if self.status == DIED:
            yield 'the run itself: a process ended before its last test, so there are tests that did not run'
        elif self.status == MISSING:
            if self.strict:
                yield 'the run itself: a server is not installed'
        elif not explained and (self.status or not self.tests):
            yield f'the run itself: {len(self.tests)} tests, runner exit code {self.status}'

    @property
    def causes(self) -> collections.Counter:
        """Return the causes of failures, one for each test."""
        return collections.Counter(f'{cause(test)}{self.where}' for test in self.tests if test['status'] in FAILED)

    @property
    def skips(self) -> collections.Counter:
        """Return the reasons of skips; a whole run counts as one."""
        if self.status == MISSING and not self.strict:
            return collections.Counter([f'the tests{self.where}: a server is not installed'])
        return collections.Counter(f'{reason(test)}{self.where}' for test in self.tests if test['status'] == 'skip')

    @property
    def passed(self) -> int:
        """Return how many tests passed."""
        return sum(test['status'] not in {*FAILED, 'skip'} for test in self.tests)


def read(stream: BinaryIO) -> list[dict]:
    """Return every test of the stream, as testtools' dictionaries; one that never ended is 'inprogress'."""
    tests: list[dict] = []
    result = testtools.StreamToDict(tests.append)
    result.startTestRun()
    subunit.ByteStreamToStreamResult(stream, non_subunit_name='stdout').run(result)
    result.stopTestRun()
    # Status 'exists' only announces a test. Statuses without a test id are attachments.
    return [test for test in tests if test['id'] and test['status'] not in ('exists', 'unknown')]


def reason(test: dict) -> str:
    """Return the reason of a skip."""
    detail = test['details'].get('reason')
    return detail.as_text().strip() if detail else 'no reason given'


def permitted(why: str) -> bool:
    """Say whether a test may be skipped for this reason, wherever tests run."""
    return any(form.fullmatch(why) for form in PERMITTED.values())


def may_need_two(name: str) -> bool:
    """Say whether a test may pass at the second try in a run of first tries."""
    return any(group(name).startswith(f'{module}.') for modules in SECOND_TRY.values() for module in modules)


def report(test: dict) -> str:
    """Return the tracebacks of a failed test."""
    return '\n'.join(detail.as_text() for name, detail in test['details'].items() if 'traceback' in name)


def cause(test: dict) -> str:
    """Return the first exception of a failed test's report, which is the root; logged lines come after it."""
    if test['status'] == 'missed':
        return f'skipped: {" ".join(reason(test).split())[:LONGEST]}'
    if test['status'] == 'mended':
        return f'passed only when tried again alone: {cause(test | {"status": "fail"})}'
    if not test['details'] and test['status'] != 'uxsuccess':
        return 'no report: its process ended'
    text = report(test)
    match = (re.search(rf'^({re.escape(TOO_LONG)}.*)', text, re.MULTILINE)
             or re.search(r'^Traceback .*\n(?:[ \t].*\n)*(\S.*)', text, re.MULTILINE))
    return match[1][:LONGEST] if match else f'no report, {test["status"]}'


def group(name: str) -> str:
    """Return the class of a test, or the class whose set-up failed: tests of a class often fail together."""
    of_class = re.fullmatch(r'(?:setUp|tearDown)Class \((.*)\)', name)
    return of_class[1] if of_class else name.partition('(')[0].rpartition('.')[0]


def expression(name: str) -> str:
    """Return a regular expression of a test, or of the tests of a class whose set-up failed.

    Lists have a test with scenarios under its plain name, so all its scenarios are meant.
    """
    if of_class := re.fullmatch(r'(?:setUp|tearDown)Class \((.*)\)', name):
        return rf'^{re.escape(of_class[1])}\.'
    if scenario := re.fullmatch(r'(.*\w)\([^()]*\)', name):
        return rf'^{re.escape(scenario[1])}(\(|$)'
    return f'^{re.escape(name)}$'


def load(words: str) -> Run:
    """Return a run from its description, whose form is in the module's docstring."""
    name, *tries = words.split(':')
    runs = []
    for status, path in zip(tries[::2], tries[1::2], strict=True):
        with pathlib.Path(path).open('rb') as stream:
            runs.append(Run(f' [{name}]' if name else '', int(status), read(stream)))
    return functools.reduce(Run.after, runs)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--again', action='store_true')
    parser.add_argument('--strict', action='store_true')
    parser.add_argument('--first-try', action='store_true')
    parser.add_argument('--failed', action='append', default=[], metavar='WHAT')
    parser.add_argument('runs', nargs='*', metavar='RUN')
    return parser.parse_args()


def main() -> int:
    asked = arguments()
    runs = [load(run) for run in asked.runs]
    if asked.again:
        print('\n'.join(itertools.chain.from_iterable(run.worth_another_try() for run in runs)))
        return 0
    if asked.strict:
        runs = [run.strictly() for run in runs]
    return summarise([run.at_first() for run in runs] if asked.first_try else runs, asked.failed)


def summarise(runs: list[Run], others: Sequence[str] = ()) -> int:
    """Print the results of the runs, and other failures; return the exit code."""
    failed = [*others, *(name for run in runs for name in run.failed)] or ([] if runs else ['no run'])
    skips = sum((run.skips for run in runs), collections.Counter())
    for why, count in sorted(skips.items()):
        print(f'skipped {count}: {why}')
    for why, count in sum((run.causes for run in runs), collections.Counter()).most_common():
        print(f'failed {count}: {why}')
    for name in failed:
        print(f'FAILED {name}')
    for run in runs:
        for test in run.mended:
            print(f'failed at first, passed when tried again alone: {test["id"]}{run.where}: {cause(test)}')
    print(f'{sum(run.passed for run in runs)} passed, {len(failed)} failed, {skips.total()} skipped')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
