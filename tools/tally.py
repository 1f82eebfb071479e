#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Count the tests of one or more runs: tools/tally.py [--again] RUN...

A RUN is ``NAME:STATUS:FILE[:STATUS:FILE]``: what it is called ('' for the plain one), the test runner's exit code, and its
results as subunit; then those of a second try of what had failed. Says why tests were skipped and why they failed, names
what failed and on what, and what failed at the first try only, then ends with one plain line over all runs,
``N passed, N failed, N skipped``. Exit code 1 if a test failed, or if no test ran in one of the runs.
With ``--again`` it prints regular expressions of the tests that are worth a second try, if they are few.
"""

import collections
import dataclasses
import functools
import itertools
import pathlib
import re
import sys
from typing import BinaryIO

import subunit
import testtools

FAILED = {'fail', 'uxsuccess', 'inprogress'}
#: Exit code of a run that could not take place because a program is not installed.
MISSING = 77
#: Characters of a cause.
LONGEST = 300
#: More failures than these, each class counted as one, are no accident of a busy machine.
FEW = 10
#: Nor are so many in all.
MANY = 100


@dataclasses.dataclass
class Run:
    """One run of the tests. ``failed``: names, and where; ``skips``: reasons and how often."""

    where: str
    status: int
    tests: list[dict]
    #: What failed at the first try, and passed at the second.
    mended: list[dict] = dataclasses.field(default_factory=list)

    def worth_another_try(self) -> list[str]:
        """Return regular expressions of what failed, if it is little and the run went to its end."""
        bad = [test for test in self.tests if test['status'] in FAILED]
        if len(bad) > MANY or len({group(test['id']) for test in bad}) > FEW or any(test['status'] != 'fail' for test in bad):
            return []
        return sorted({expression(test['id']) for test in bad})

    def after(self, second: 'Run') -> 'Run':
        """Return what is to be told after a second try of the tests that failed."""
        def of(test: dict) -> list[str]:
            return [again['status'] for again in second.tests if re.search(expression(test['id']), again['id'])]
        tried = [test for test in self.tests if test['status'] in FAILED and of(test)]
        both = {test['id']: test for test in [*(test for test in self.tests if test not in tried), *second.tests]}
        return Run(self.where, second.status, list(both.values()), [test for test in tried if not FAILED & {*of(test)}])

    @property
    def failed(self) -> list[str]:
        """Return the names of tests that failed, and of the run itself if it did, each with where that was."""
        names = sorted(test['id'] for test in self.tests if test['status'] in FAILED)
        if not names and self.status != MISSING and (self.status or not self.tests):
            names = [f'the run itself: {len(self.tests)} tests, runner exit code {self.status}']
        return [f'{name}{self.where}' for name in names]

    @property
    def causes(self) -> collections.Counter:
        """Return why tests failed: the last line of each report."""
        return collections.Counter(f'{cause(test)}{self.where}' for test in self.tests if test['status'] in FAILED)

    @property
    def skips(self) -> collections.Counter:
        """Return the reasons for which tests were skipped; a whole run counts as one."""
        if self.status == MISSING:
            return collections.Counter([f'the tests{self.where}: a server is not installed'])
        return collections.Counter(f'{reason(test)}{self.where}' for test in self.tests if test['status'] == 'skip')

    @property
    def passed(self) -> int:
        """Return how many tests passed."""
        return sum(test['status'] not in {*FAILED, 'skip'} for test in self.tests)


def read(stream: BinaryIO) -> list[dict]:
    """Every test of the stream, as testtools' dictionaries; one that never ended is 'inprogress'."""
    tests: list[dict] = []
    result = testtools.StreamToDict(tests.append)
    result.startTestRun()
    subunit.ByteStreamToStreamResult(stream, non_subunit_name='stdout').run(result)
    result.stopTestRun()
    # Status 'exists' only announces a test. Statuses without a test id are attachments.
    return [test for test in tests if test['id'] and test['status'] not in ('exists', 'unknown')]


def reason(test: dict) -> str:
    """Why a test was skipped."""
    detail = test['details'].get('reason')
    return detail.as_text().strip() if detail else 'no reason given'


def cause(test: dict) -> str:
    """Return the first exception of a failed test's report: it is the root, and what was logged comes after it."""
    report = '\n'.join(detail.as_text() for name, detail in test['details'].items() if 'traceback' in name)
    found = re.search(r'^Traceback .*\n(?:[ \t].*\n)*(\S.*)', report, re.MULTILINE)
    return found[1][:LONGEST] if found else f'no report, {test["status"]}'


def group(name: str) -> str:
    """Return the class that a test is of, or that could not be set up: its tests fail together when what they share does."""
    of_class = re.fullmatch(r'(?:setUp|tearDown)Class \((.*)\)', name)
    return of_class[1] if of_class else name.partition('(')[0].rpartition('.')[0]


def expression(name: str) -> str:
    """Return a regular expression of a test, or of the tests of a class that could not be set up."""
    of_class = re.fullmatch(r'(?:setUp|tearDown)Class \((.*)\)', name)
    return rf'^{re.escape(of_class[1])}\.' if of_class else f'^{re.escape(name)}$'


def load(words: str) -> Run:
    """Return a run from its description, which the module's first lines explain."""
    name, *tries = words.split(':')
    runs = []
    for status, path in zip(tries[::2], tries[1::2], strict=True):
        with pathlib.Path(path).open('rb') as stream:
            runs.append(Run(f' [{name}]' if name else '', int(status), read(stream)))
    return functools.reduce(Run.after, runs)


def main() -> int:
    if sys.argv[1:2] == ['--again']:
        print('\n'.join(itertools.chain.from_iterable(load(words).worth_another_try() for words in sys.argv[2:])))
        return 0
    runs = [load(words) for words in sys.argv[1:]]
    failed = [name for run in runs for name in run.failed] or ([] if runs else ['no run'])
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
