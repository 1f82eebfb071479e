#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Print the tests that a database does not run (stestr --exclude-list): tools/portions.py sqlite|postgresql|mariadb [SEED]

A server does not run the tests in sqlite-only.txt. With a seed, each other module of functional tests runs on one of the
three databases, and the seed says on which. Modules in every-database.txt run on all three.
"""

import hashlib
import pathlib
import re
import sys
from collections.abc import Iterator

FUNCTIONAL = pathlib.Path(__file__).resolve().parents[1] / 'manila_lite' / 'tests' / 'functional'
SQLITE_ONLY = FUNCTIONAL / 'sqlite-only.txt'
EVERY = FUNCTIONAL / 'every-database.txt'
DATABASES = ('sqlite', 'postgresql', 'mariadb')


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


def excluded(database: str, seed: str) -> Iterator[str]:
    """Yield the lines of the list."""
    only = patterns(SQLITE_ONLY)
    if database != 'sqlite':
        yield from only
    if seed:
        every = re.compile('|'.join(patterns(EVERY)))
        elsewhere = '|'.join(re.escape(name) for name in names()
                             if not every.match(f'functional.{name}.') and not is_on(database, name, seed))
        kept = f'(?!.*(?:{"|".join(only)}))' if database == 'sqlite' else ''
        yield f'^{kept}.*functional\\.(?:{elsewhere})\\.'


if __name__ == '__main__':
    if len(sys.argv) not in {2, 3} or sys.argv[1] not in DATABASES:
        sys.exit(__doc__)
    print(*excluded(sys.argv[1], *sys.argv[2:] or ['']), sep='\n')
