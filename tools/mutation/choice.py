# SPDX-License-Identifier: Apache-2.0
"""Which tests judge a fault: those that reach it, the nearest and quickest first, of as many classes as possible."""

import collections
import pathlib
import re

from mutation.mutants import Mutant
from mutation.reach import Reach

#: As in .stestr.conf: tests of a class, and requests of a gabbi file, stay together.
_GABBI = re.compile(r'(.*\.test_gabbits\.[a-z][^_]*)_.*\.test_request$')
#: Faults in tables that are read when a module is loaded are reached by no test in particular. Who looks at such tables:
_OF_TABLES = (
    ('manila_lite/policies/', ('manila_lite.tests.contract.test_policies', 'manila_lite.tests.functional.test_roles')),
    ('manila_lite/api/contract/', ('manila_lite.tests.contract.test_record', 'manila_lite.tests.contract.test_contract',
                                   'manila_lite.tests.contract.test_versions')),
    ('manila_lite/states.py', ('manila_lite.tests.unit.test_states', 'manila_lite.tests.contract.test_states')),
)


def group(test: str) -> str:
    """Return the class, or gabbi file, that a test is of."""
    found = _GABBI.match(test)
    return found[1] if found else test.rpartition('.')[0]


def judges(mutant: Mutant, reach: Reach, most: int, seconds: float) -> list[str]:
    """Return names of tests, and of whole modules, that shall judge, the best first: about ``seconds`` of work."""
    words = set(re.findall(r'[a-z]+', pathlib.Path(mutant.path).stem)) | set(re.findall(r'[a-z]+', mutant.definition.lower()))
    first = [module for start, modules in _OF_TABLES if mutant.path.startswith(start) for module in modules]
    classes: dict[str, list[str]] = collections.defaultdict(list)
    for test in sorted(reach.tests(mutant.path, range(mutant.first, mutant.last + 1), mutant.definition)):
        classes[group(test) if test in reach.seconds else test].append(test)

    def far(name: str) -> tuple[int, float]:
        near = len(words & {word.rstrip('s') for word in re.findall(r'[a-z]+', name.lower())}
                   | words & set(re.findall(r'[a-z]+', name.lower())))
        return (-2 * ('.unit.' in name) - near, min((reach.seconds.get(test, 1.0) for test in classes[name]), default=1.0))
    chosen, spent = list(first), 0.0
    rounds = [sorted(classes[name], key=lambda test: reach.seconds.get(test, 1.0)) for name in sorted(classes, key=far)]
    for turn in range(max((len(tests) for tests in rounds), default=0)):
        for tests in rounds:
            if turn < len(tests) and len(chosen) < most and spent < seconds:
                chosen.append(tests[turn])
                spent += reach.seconds.get(tests[turn], 2.0) + (1.0 if not turn else 0.0)
    return chosen
