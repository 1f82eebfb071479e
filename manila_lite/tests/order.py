# SPDX-License-Identifier: Apache-2.0
"""The order of tests: by file, or another one for each seed, so that dependencies between tests are found.

Classes are shuffled, and the tests of a class. A class is set up only once, and a file of gabbi keeps its requests in
order. Classes of a group, which share something, are beside each other; it ends with the last of them (``lasting.py``).
"""

import hashlib
import os
import unittest
from collections.abc import Iterator
from typing import Any

#: Names the seed; if empty, the order is that of files.
SEED = 'TEST_ORDER_SEED'


class Class(unittest.TestSuite):
    """The tests of a class, which is taken down right after them, before the next set-up."""

    def run(self, result: unittest.TestResult, debug: bool = False) -> unittest.TestResult:
        """See ``unittest.TestSuite.run``, which takes a class down when the next test begins."""
        super().run(result, debug)
        self._tearDownPreviousClass(None, result)  # type: ignore[attr-defined]
        result._previousTestClass = None  # type: ignore[attr-defined]
        return result


class Together(unittest.TestSuite):
    """The classes of a group of ``lasting.py``."""

    def __init__(self, group: Any):
        super().__init__()
        self.group = group

    def run(self, result: unittest.TestResult, debug: bool = False) -> unittest.TestResult:
        """See ``unittest.TestSuite.run``."""
        super().run(result, debug)
        self.group.end()
        return result


def ordered(suite: unittest.TestSuite, seed: str | None = None) -> list[unittest.TestSuite]:
    """Return the units of the suite in the order of the seed, by default that of the environment; without one, as they are.

    The place of a test follows from its name, so that two tests keep their order among any other tests.
    """
    seed = os.environ.get(SEED, '') if seed is None else seed
    found = units(suite)
    if not seed:
        return found

    def place(name: str) -> bytes:
        return hashlib.sha256(f'{seed} {name}'.encode()).digest()

    for unit in found:
        if isinstance(unit, Class):
            unit._tests.sort(key=lambda test: place(test.id()))
    found.sort(key=lambda unit: place(min(names(unit))))
    return sorted(
        _together(found),
        key=lambda unit: place(unit.group.name if isinstance(unit, Together) else min(names(unit))),
    )


def _together(found: list[unittest.TestSuite]) -> list[unittest.TestSuite]:
    """Return the units, those of a group as one, in their order."""
    groups: dict[Any, Together] = {}
    others = []
    for unit in found:
        group = getattr(unit._tests[0], 'TOGETHER', None)
        if group is None:
            others.append(unit)
        else:
            groups.setdefault(group, Together(group)).addTest(unit)
    return [*others, *groups.values()]


def units(suite: unittest.TestSuite) -> list[unittest.TestSuite]:
    """Return the units of a suite: tests that must stay together."""
    found: dict[object, unittest.TestSuite] = {}
    for part in _parts(suite):
        if isinstance(part, unittest.TestSuite):
            found[id(part)] = part
        else:
            found.setdefault(type(part), Class()).addTest(part)
    return list(found.values())


def tests(unit: unittest.TestSuite) -> Iterator[unittest.TestCase]:
    """Yield the tests of a unit, in their order."""
    for part in unit:
        if isinstance(part, unittest.TestSuite):
            yield from tests(part)
        else:
            yield part


def names(unit: unittest.TestSuite) -> list[str]:
    """Return the names of a unit's tests, in their order."""
    return [test.id() for test in tests(unit)]


def _parts(suite: unittest.TestSuite) -> Iterator[unittest.TestCase | unittest.TestSuite]:
    """Yield tests, and suites with work of their own around their tests."""
    for part in suite:
        if isinstance(part, unittest.TestSuite) and type(part).run is unittest.TestSuite.run:
            yield from _parts(part)
        elif not isinstance(part, unittest.TestSuite) or part.countTestCases():
            yield part
