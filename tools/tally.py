#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Count the tests of a subunit stream: stestr last --subunit | tools/tally.py.

Names what failed and why things were skipped, then ends with one plain line,
``N passed, N failed, N skipped``. Exit code 1 if a test failed or none ran.
"""

import argparse
import collections
import sys
from typing import BinaryIO

import subunit
import testtools

FAILED = {'fail', 'uxsuccess', 'inprogress'}


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
    """Why a test was skipped, or '' if it did not say."""
    detail = test['details'].get('reason')
    return detail.as_text().strip() if detail else ''


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--exit-code', type=int, default=0, help="the test runner's own exit code")
    runner = parser.parse_args().exit_code

    tests = read(sys.stdin.buffer)
    failed = sorted(test['id'] for test in tests if test['status'] in FAILED)
    skips = collections.Counter(reason(test) for test in tests if test['status'] == 'skip')
    passed = len(tests) - len(failed) - skips.total()

    for why, count in sorted(skips.items()):
        print(f'skipped {count}: {why or "no reason given"}')
    for name in failed:
        print(f'FAILED {name}')
    errors = len(failed)
    if not errors and (runner or not tests):
        print(f'FAILED the run itself: {len(tests)} tests, runner exit code {runner}')
        errors = 1
    print(f'{passed} passed, {errors} failed, {skips.total()} skipped')
    return 1 if errors else 0


if __name__ == '__main__':
    sys.exit(main())
