#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Print the tests that a server does not run (stestr --exclude-list): tools/halves.py postgresql|mariadb [SEED]

Those are the tests in sqlite-only.txt and, with a seed, half of the modules, which the other server runs. The seed says
which half. Modules in both-servers.txt run on both.
"""

import hashlib
import pathlib
import re
import sys
from collections.abc import Iterator

FUNCTIONAL = pathlib.Path(__file__).resolve().parents[1] / 'manila_lite' / 'tests' / 'functional'
SQLITE_ONLY = FUNCTIONAL / 'sqlite-only.txt'
BOTH = FUNCTIONAL / 'both-servers.txt'
SERVERS = ('postgresql', 'mariadb')


def names() -> Iterator[str]:
    """Yield each module with functional tests, by its name below the package of functional tests."""
    for path in sorted(FUNCTIONAL.rglob('test_*.py')):
        yield '.'.join(path.relative_to(FUNCTIONAL).with_suffix('').parts)


def patterns(path: pathlib.Path) -> list[str]:
    """Return the regular expressions in a list of tests."""
    return [line for line in path.read_text().splitlines() if line and not line.startswith('#')]


def is_on(server: str, name: str, seed: str) -> bool:
    """Say whether a server runs the tests of a module."""
    return SERVERS[hashlib.sha256(f'{seed} {name}'.encode()).digest()[0] % len(SERVERS)] == server


def excluded(server: str, seed: str) -> Iterator[str]:
    """Yield the lines of the list."""
    yield from patterns(SQLITE_ONLY)
    if seed:
        both = re.compile('|'.join(patterns(BOTH)))
        for name in names():
            if not both.match(f'functional.{name}.') and not is_on(server, name, seed):
                yield f'functional\\.{re.escape(name)}\\.'


if __name__ == '__main__':
    if len(sys.argv) not in {2, 3} or sys.argv[1] not in SERVERS:
        sys.exit(__doc__)
    print(*excluded(sys.argv[1], *sys.argv[2:] or ['']), sep='\n')
