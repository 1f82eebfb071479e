#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Print the tests that a run leaves out (stestr --exclude-list): tools/portions.py sqlite|postgresql|mariadb|behind [SEED TURN]

A server does not run the tests in sqlite-only.txt. With a seed, each other module of functional tests runs on one of the
three databases, and the seed says on which. Modules in every-database.txt run on all three. Slow classes take turns: with TURN
0 to 5 a sixth of them runs. "behind" stands for long tests on SQLite that run behind those on a server (behind.txt): only the
turns matter there.
"""

import hashlib
import pathlib
import re
import sys
from collections.abc import Iterator

import spread

FUNCTIONAL = pathlib.Path(__file__).resolve().parents[1] / 'manila_lite' / 'tests' / 'functional'
SQLITE_ONLY = FUNCTIONAL / 'sqlite-only.txt'
EVERY = FUNCTIONAL / 'every-database.txt'
DATABASES = ('sqlite', 'postgresql', 'mariadb')
TURNS = 6
#: Tests that take no turns: of what every change touches, of crashes, and of security.
ALWAYS = ('contract.', 'crash.', 'security.', 'simulation.', 'unit.')


def names() -> Iterator[str]:
    """Yield each module with functional tests, by its name below the package of functional tests."""
    for path in sorted(FUNCTIONAL.rglob('test_*.py')):
        yield '.'.join(path.relative_to(FUNCTIONAL).with_suffix('').parts)


def patterns(path: pathlib.Path) -> list[str]:
    """Return the regular expressions in a list of tests."""
    return [line for line in path.read_text().splitlines() if line and not line.startswith('#')]


def is_on(database: str, name: str, seed: str) -> bool:
    """Say whether a database runs the tests of a module."""
    return DATABASES[hashlib.sha256(f'{seed} {name}'.encode()).digest()[0] % len(DATABASES)] == database


def turns() -> dict[str, int]:
    """Return the turn of each slow class that takes turns. Each turn takes about as long: the longest are given out first."""
    every = re.compile('|'.join(patterns(EVERY)))
    slow = {test.rpartition('.')[0]: float(seconds) for test, seconds in spread.read().items()
            if not (name := test.removeprefix('manila_lite.tests.')).startswith(ALWAYS) and not every.match(name)}
    taken = [0.0] * TURNS
    chosen = {}
    for name in sorted(slow, key=lambda name: (-slow[name], name)):
        chosen[name] = taken.index(min(taken))
        taken[chosen[name]] += slow[name]
    return chosen


def excluded(database: str, seed: str, turn: int | None = None) -> Iterator[str]:
    """Yield the lines of the list."""
    only = patterns(SQLITE_ONLY)
    if database in DATABASES[1:]:
        yield from only
    if seed and database in DATABASES:
        every = re.compile('|'.join(patterns(EVERY)))
        elsewhere = '|'.join(re.escape(name) for name in names()
                             if not every.match(f'functional.{name}.') and not is_on(database, name, seed))
        kept = f'(?!.*(?:{"|".join(only)}))' if database == 'sqlite' else ''
        yield f'^{kept}.*functional\\.(?:{elsewhere})\\.'
    if turn is not None:
        yield from (f'^{re.escape(name)}\\.' for name, its in turns().items() if its != turn)


if __name__ == '__main__':
    if len(sys.argv) not in {2, 4} or sys.argv[1] not in {*DATABASES, 'behind'}:
        sys.exit(__doc__)
    print(*excluded(sys.argv[1], sys.argv[2], int(sys.argv[3])) if sys.argv[2:] else excluded(sys.argv[1], ''), sep='\n')
