# SPDX-License-Identifier: Apache-2.0
"""Choice of the tests for a fault: those that reach it, in as many ways as possible, the nearest and quickest first."""

import collections
import itertools
import pathlib
import re

from mutation.mutants import Mutant
from mutation.reach import Reach, group

#: Modules of tests for tables that are read at import, by path: no single test reaches a fault there.
_OF_TABLES = (
    ('manila_lite/policies/', ('manila_lite.tests.contract.test_policy_record', 'manila_lite.tests.contract.test_policies',
                               'manila_lite.tests.functional.test_roles')),
    ('manila_lite/api/contract/', ('manila_lite.tests.contract.test_record', 'manila_lite.tests.contract.test_contract',
                                   'manila_lite.tests.contract.test_versions', 'manila_lite.tests.contract.test_openapi')),
    ('manila_lite/states.py', ('manila_lite.tests.unit.test_states', 'manila_lite.tests.contract.test_states')),
)

#: Words that are in the names of all tests.
_EVERYWHERE = {'manila', 'lite', 'test', 'functional', 'unit', 'gabbit', 'request', 'a', 'i'}

#: Parts of the names of tests, by kind of critical code.
_WHO_LOOKS = {'ownership': ('isolation', 'borders'), 'fencing': ('test_lease_rows', 'test_lost_claims', '_rows.', 'claims'),
              'quota': ('quota',)}


def judges(mutant: Mutant, reach: Reach, most: int, seconds: float) -> list[str]:
    """Return the names of tests, and of whole modules, for the fault, the best first: about ``seconds`` of work.

    Tests differ by the other lines of the function that they reach: a dropped refusal is noticed by the few tests that
    were refused. One of each kind is chosen, the rarest first, then a second of each.
    """
    in_table = reach.is_in_table(mutant.path, mutant.line)
    # All tests that use a table reach all its rows: the words of the row show which of them are about it.
    words = _words(f'{pathlib.Path(mutant.path).stem} {mutant.definition} {mutant.text if in_table else ""}')

    def far(test: str) -> tuple[bool, float]:
        near = len(words & _words(test))
        return test not in reach.seconds, reach.price(test) - (3.0 if in_table else 0.3) * near
    chosen = [module for start, modules in _OF_TABLES if mutant.path.startswith(start) for module in modules]
    spent, known = 0.0, set()
    tests = reach.tests(mutant.path, range(mutant.first, mutant.last + 1), mutant.definition)
    if in_table and not tests:      # a file with nothing but tables
        tests = {test for test in reach.seconds if len(words & _words(test)) > 1}
    tests = {test for test in tests if reach.price(test) <= seconds / 4} or tests
    kinds = collections.defaultdict(list)
    for test in sorted(tests):
        kinds[reach.way(test, mutant.path, mutant.definition)].append(test)
    rounds = [sorted(tests, key=far) for tests in sorted(kinds.values(), key=len)]
    looking = [test for test in tests if any(name in test for name in _WHO_LOOKS.get(mutant.critical, ()))]
    in_turn = [test for turn in itertools.zip_longest(*rounds) for test in turn if test]
    for test in dict.fromkeys([*sorted(looking, key=far)[:most // 3], *in_turn]):
        if len(chosen) < most and spent < seconds:
            chosen.append(test)
            spent += reach.price(test) + (0.5 if group(test) not in known else 0.0)
            known.add(group(test))
    return chosen


def _words(names: str) -> set[str]:
    return {word.rstrip('s') for word in re.findall(r'[a-z]+', names.lower())} - _EVERYWHERE
