#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Print the modules with tests that a pattern matches: tools/matching.py REGEX...

To import all test modules takes ten seconds. A run of a few tests imports only these (manila_lite/tests/limits.py). Names of
tests are read from the source, with the tests of base classes. Prints nothing if no name matches.
"""

import collections
import pathlib
import re
import sys
from collections.abc import Iterator, Sequence

ROOT = pathlib.Path(__file__).resolve().parents[1]
TESTS = ROOT / 'manila_lite' / 'tests'
#: The module whose tests are the requests in gabbi files.
GABBITS = 'manila_lite.tests.functional.test_gabbits'
#: Modules that make tests when they are imported, so that the source does not have all names.
MADE = ('manila_lite.tests.crash.test_batches', 'manila_lite.tests.crash.test_matrix',
        'manila_lite.tests.functional.test_lost_claims',
        'manila_lite.tests.simulation.shares.test_shares', 'manila_lite.tests.simulation.test_simulation')

_CLASS = re.compile(r'^class (\w+)(?:\(([^)]*)\))?:\n((?:(?:[ \t].*)?\n)*)', re.MULTILINE)
_TEST = re.compile(r'^    def (test\w*)\(', re.MULTILINE)
_BASE = re.compile(r'(\w+)(?=,|\s*$)')
_REQUEST = re.compile(r'''^ *-? *name: *(["']?)(.*)\1 *$''', re.MULTILINE)
_LITERAL = re.compile(r'\^?((?:\w|\\?\.)*)')


class Names:
    """The names of tests in the source."""

    def __init__(self) -> None:
        self._modules: dict[str, list[str]] = {}
        self._classes: dict[str, list[tuple[list[str], list[str]]]] = collections.defaultdict(list)
        for path in TESTS.rglob('*.py'):
            module = '.'.join(path.relative_to(ROOT).with_suffix('').parts)
            classes = _CLASS.findall(path.read_text() + '\n')
            if path.name.startswith('test'):
                self._modules[module] = [name for name, _, _ in classes]
            for name, bases, body in classes:
                self._classes[name].append((_TEST.findall(body), _BASE.findall(bases)))

    def modules(self) -> Iterator[tuple[str, set[str]]]:
        """Yield each module with the names of its tests; names of a base class may be too many."""
        for module, classes in self._modules.items():
            tests = {f'{module}.{name}.{test}' for name in classes for test in self._tests(name)}
            yield module, tests | set(_requests() if module == GABBITS else ())

    def _tests(self, name: str, inside: Sequence[str] = ()) -> set[str]:
        tests = set()
        for own, bases in self._classes.get(name, ()):
            tests |= {*own}.union(*(self._tests(base, (*inside, name)) for base in bases if base not in (*inside, name)))
        return tests


def _requests() -> Iterator[str]:
    for path in (TESTS / 'functional' / 'gabbits').glob('*.yaml'):
        for _, name in _REQUEST.findall(path.read_text()):
            yield f'{GABBITS}.{path.stem}_{name}.test_request'.lower().replace(' ', '_')


def _may_match(pattern: str, module: str) -> bool:
    """Say whether a pattern may match a test that the module makes: not if it begins with the name of another module."""
    # The last character may be optional, and a dot is any character.
    literal = _LITERAL.match(pattern)[1].replace('\\', '')[:-1]
    return '|' in pattern or not literal.startswith('manila_lite.') or all(
        one in ('.', other) for one, other in zip(literal, f'{module}.', strict=False))


def modules(patterns: Sequence[str]) -> list[str]:
    """Return the modules with a matching test; if the source has none, an empty list."""
    matches = {module for module, tests in Names().modules()
             if any(re.search(pattern, test) for pattern in patterns for test in tests)}
    if matches:
        matches |= {module for module in MADE if any(_may_match(pattern, module) for pattern in patterns)}
    return sorted(matches)


if __name__ == '__main__':
    print(' '.join(modules(sys.argv[1:])))
