# SPDX-License-Identifier: Apache-2.0
"""The order of the tests: that of their files, or another one for each seed, so that what one test leaves to the next is found.

Classes are shuffled, and the tests of a class. What belongs together stays so: a class is set up once, and a file of
gabbi keeps its requests in order.
"""

import hashlib
import os
import unittest
from collections.abc import Iterator

#: Names the seed; empty for the order of files.
SEED = 'TEST_ORDER_SEED'


class Class(unittest.TestSuite):
    """The tests of a class, which is taken down after them: before whatever comes next is set up."""

    def run(self, result: unittest.TestResult, debug: bool = False) -> unittest.TestResult:
        """See ``unittest.TestSuite.run``, which takes a class down when the next test begins."""
        super().run(result, debug)
        self._tearDownPreviousClass(None, result)  # type: ignore[attr-defined]
        result._previousTestClass = None  # type: ignore[attr-defined]
        return result


def ordered(suite: unittest.TestSuite, seed: str | None = None) -> unittest.TestSuite:
    """Return the same tests as the seed has them, if not given that of the environment.

    A test's place is its name's, so that two tests come in the same order however many others run with them.
    """
    seed = os.environ.get(SEED, '') if seed is None else seed
    if not seed:
        return suite

    def place(name: str) -> bytes:
        return hashlib.sha256(f'{seed} {name}'.encode()).digest()

    found = units(suite)
    for unit in found:
        if isinstance(unit, Class):
            unit._tests.sort(key=lambda test: place(test.id()))
    return unittest.TestSuite(sorted(found, key=lambda unit: place(min(names(unit)))))


def units(suite: unittest.TestSuite) -> list[unittest.TestSuite]:
    """Return the tests of a suite, each with those which it stays together with."""
    classes: dict[type, Class] = {}
    whole = []
    for part in _parts(suite):
        if isinstance(part, unittest.TestSuite):
            whole.append(part)
        else:
            classes.setdefault(type(part), Class()).addTest(part)
    return whole + list(classes.values())


def names(unit: unittest.TestSuite) -> list[str]:
    """Return the names of its tests, as they come."""
    return [test.id() for part in unit for test in ([part] if isinstance(part, unittest.TestCase) else _parts(part))]


def _parts(suite: unittest.TestSuite) -> Iterator[unittest.TestCase | unittest.TestSuite]:
    """Yield tests, and suites that do something around theirs."""
    for part in suite:
        if isinstance(part, unittest.TestSuite) and type(part).run is unittest.TestSuite.run:
            yield from _parts(part)
        elif not isinstance(part, unittest.TestSuite) or part.countTestCases():
            yield part
