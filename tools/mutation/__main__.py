# SPDX-License-Identifier: Apache-2.0
"""tools/mutate: small faults are put into the core, one at a time, and the tests that reach them judge."""

import argparse
import difflib
import fnmatch
import pathlib
import random
import sys

from mutation import mutants, operators, report, session
from mutation.mutants import Mutant

ROOT = pathlib.Path(__file__).resolve().parents[2]
#: What is recorded, and the trees in which tests judge. Not in git.
STORE = ROOT / '.mutation'


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog='tools/mutate', description=__doc__)
    commands = parser.add_subparsers(dest='command', required=True)
    record = commands.add_parser('record', help='run the judging tests once and note what they reach (half an hour)')
    record.add_argument('--concurrency', type=int, default=3)
    record.add_argument('--only', help='only tests whose name matches, new ones: what is known of others stays')
    run = commands.add_parser('run', help='judge what was not judged yet; goes on where it was stopped')
    run.add_argument('--critical', action='store_true', help='only what must all be noticed: ownership, policy and so on')
    run.add_argument('--kind', default='*', help='only this kind of what is critical')
    run.add_argument('--file', default='*', help='only files that match, such as "manila_lite/db/*"')
    run.add_argument('--key', action='append', help='this fault, also if it was judged already; again and again for more')
    run.add_argument('--by', action='append', help='a class or module of tests that judges, instead of those that are chosen')
    run.add_argument('--sample', type=int, help='so many of them, drawn at random (seed 1), so that all files have their share')
    run.add_argument('--again', action='store_true', help='judge once more what survived')
    run.add_argument('--tests', type=int, default=12, help='tests that judge a fault, at most')
    run.add_argument('--seconds', type=float, default=25.0, help='what they may take, about')
    run.add_argument('--workers', type=int, default=2)
    run.add_argument('--minutes', type=float, default=55.0, help='when to stop')
    show = commands.add_parser('show', help='show a fault as a difference')
    show.add_argument('key')
    commands.add_parser('report', help='write the table of scores and the survivors into the documentation')
    return parser.parse_args()


def wanted(asked: argparse.Namespace) -> list[Mutant]:
    """Return the faults that are asked for."""
    found = [mutant for mutant in mutants.every(ROOT) if fnmatch.fnmatch(mutant.path, asked.file)
             and fnmatch.fnmatch(mutant.critical, asked.kind) and (mutant.critical or not asked.critical)
             and (not asked.key or mutant.key in asked.key)]
    random.Random(1).shuffle(found)
    return found[:asked.sample]


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
        return report.write(ROOT)
    if bad := operators.wrong():
        print('\n'.join(bad))
        return 1
    return session.run(ROOT, STORE, wanted(asked), asked)


if __name__ == '__main__':
    sys.exit(main())
