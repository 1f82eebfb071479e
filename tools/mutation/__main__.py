# SPDX-License-Identifier: Apache-2.0
"""tools/mutate: put small faults into the core, one at a time, and run the tests that reach them."""

import argparse
import difflib
import fnmatch
import pathlib
import random
import sys

from mutation import mutants, operators, report, session
from mutation.mutants import Mutant

ROOT = pathlib.Path(__file__).resolve().parents[2]
#: The record of reached lines, and trees for tests with faults. Not in git.
STORE = ROOT / '.mutation'


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog='tools/mutate', description=__doc__)
    commands = parser.add_subparsers(dest='command', required=True)
    record = commands.add_parser('record', help='run the judging tests once, and record the lines they reach (half an hour)')
    record.add_argument('--concurrency', type=int, default=3)
    record.add_argument('--only', help='only tests with a matching name, for new tests: the record of other tests stays')
    run = commands.add_parser('run', help='test all faults that have no result yet; continues after an interruption')
    run.add_argument('--critical', action='store_true',
                     help='only faults in critical code (ownership, policy and so on), where tests must notice all of them')
    run.add_argument('--kind', default='*', help='only faults in this kind of critical code')
    run.add_argument('--file', default='*', help='only faults in matching files, such as "manila_lite/db/*"')
    run.add_argument('--key', action='append',
                     help='only the fault with this key, even if it has a result; may be given more than once')
    run.add_argument('--by', action='append', help='test class or module to run instead of the chosen tests')
    run.add_argument('--sample', type=int, help='number of faults, drawn at random from all files')
    run.add_argument('--seed', type=int, default=1, help='another number draws another sample')
    run.add_argument('--again', action='store_true', help='test faults again that no test noticed')
    run.add_argument('--tests', type=int, default=12, help='maximum number of tests for a fault')
    run.add_argument('--seconds', type=float, default=25.0, help='approximate time in seconds for the tests of a fault')
    run.add_argument('--workers', type=int, default=2)
    run.add_argument('--minutes', type=float, default=55.0, help='time in minutes after which the run stops')
    show = commands.add_parser('show', help='show a fault as a diff')
    show.add_argument('key')
    commands.add_parser('report', help='print the table of scores and the unnoticed faults, as the documentation has them')
    return parser.parse_args()


def wanted(asked: argparse.Namespace) -> list[Mutant]:
    """Return the faults that the arguments choose."""
    faults = [mutant for mutant in mutants.every(ROOT) if fnmatch.fnmatch(mutant.path, asked.file)
             and fnmatch.fnmatch(mutant.critical, asked.kind) and (mutant.critical or not asked.critical)
             and (not asked.key or mutant.key in asked.key)]
    random.Random(asked.seed).shuffle(faults)
    return faults[:asked.sample]


def show(key: str) -> int:
    for mutant in mutants.every(ROOT):
        if mutant.key.startswith(key):
            print(f'{mutant.key} {mutant.kind} {mutant.critical}')
            before, after = (ROOT / mutant.path).read_text(), mutant.code(ROOT) or ''
            print(''.join(difflib.unified_diff(before.splitlines(True), after.splitlines(True), mutant.path, mutant.path, n=2)))
    return 0


def main() -> int:
    asked = arguments()
    STORE.mkdir(exist_ok=True)
    if asked.command == 'record':
        from mutation import reach
        return reach.record(ROOT, STORE, asked.concurrency, asked.only or reach.JUDGES)
    if asked.command == 'show':
        return show(asked.key)
    if asked.command == 'report':
        print(report.text(ROOT))
        return 0
    if bad := operators.wrong():
        print('\n'.join(bad))
        return 1
    return session.run(ROOT, STORE, wanted(asked), asked)


if __name__ == '__main__':
    sys.exit(main())
