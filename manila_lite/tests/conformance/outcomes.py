# SPDX-License-Identifier: Apache-2.0
"""Outcomes of the published tests, by mode: upstream.tsv and ours.tsv, and what differs on purpose: differences.tsv.

An outcome is ``pass``, ``fail`` or ``skip``, with the reason of what is no pass.
"""

import collections
import csv
import dataclasses
from collections.abc import Iterable, Mapping
from pathlib import Path

PASS, FAIL, SKIP = 'pass', 'fail', 'skip'
_HERE = Path(__file__).parent
UPSTREAM, OURS, DIFFERENCES = (_HERE / f'{name}.tsv' for name in ('upstream', 'ours', 'differences'))
_HEADS = ('mode', 'test', 'outcome', 'reason')
#: Of the name of a test: the part before its feature, and words of a module's name that are no feature.
_FEATURE_AT = 'manila_tempest_tests.tests.api.'
_NO_FEATURE = ('_negative', '_actions', '_extra')
#: Name of the "test" that says that no test of a class could run.
_CLASS = 'setUpClass ('


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What became of a test."""

    outcome: str
    reason: str = ''

    @property
    def good(self) -> bool:
        return self.outcome == PASS


Outcomes = Mapping[str, Outcome]


def read(file: Path, mode: str) -> dict[str, Outcome]:
    """Return the outcomes of a mode by the names of the tests. For ``DIFFERENCES``, the reasons."""
    with file.open() as lines:
        return {row['test']: Outcome(row.get('outcome') or '', row['reason'] or '')
                for row in csv.DictReader(lines, delimiter='\t') if row['mode'] == mode}


def write(mode: str, ours: Outcomes, file: Path = OURS) -> None:
    """Replace the outcomes of the mode in the file. Classes that were skipped as a whole are no tests."""
    rows = []
    if file.exists():
        with file.open() as lines:
            rows = [row for row in csv.DictReader(lines, delimiter='\t') if row['mode'] != mode]
    rows += [{'mode': mode, 'test': name, 'outcome': one.outcome, 'reason': one.reason.rpartition('\n')[2][:200]}
             for name, one in ours.items() if not name.startswith(_CLASS)]
    with file.open('w') as out:
        table = csv.DictWriter(out, _HEADS, delimiter='\t', lineterminator='\n')
        table.writeheader()
        table.writerows(sorted(rows, key=lambda row: (row['mode'], row['test'])))


def worse(ours: Outcomes, upstream: Outcomes, allowed: Iterable[str] = ()) -> dict[str, str]:
    """Return the reasons of worse tests by name: they pass upstream and not here, or fail here and are skipped there.

    ``allowed``: names of tests that may.
    """
    found = {}
    for name, other in upstream.items():
        mine = ours.get(name)
        if other.good and (mine is None or not mine.good):
            found[name] = _why(name, mine, ours)
    for name, mine in ours.items():
        if mine.outcome == FAIL and not name.startswith(_CLASS) and upstream.get(name, Outcome(SKIP)).outcome == SKIP:
            found[name] = mine.reason
    return {name: reason for name, reason in found.items() if name not in set(allowed)}


def _why(name: str, mine: Outcome | None, ours: Outcomes) -> str:
    """Return why a test did not pass; one that did not run may be of a class that could not begin."""
    if mine is not None:
        return mine.reason
    of_class = ours.get(f'{_CLASS}{name.rpartition(".")[0]})')
    return of_class.reason if of_class else 'It did not run.'


def feature_of(name: str) -> str:
    """Return the feature that a test is about, by its module."""
    module = name.removeprefix(_FEATURE_AT).removeprefix('admin.').partition('.')[0].removeprefix('test_')
    for words in _NO_FEATURE:
        module = module.removesuffix(words)
    return module.replace('_', ' ')


def by_feature(mode: str) -> dict[str, tuple[int, int]]:
    """Return how many tests of each feature pass upstream and here."""
    counts: dict[str, list[int]] = collections.defaultdict(lambda: [0, 0])
    for column, file in enumerate((UPSTREAM, OURS)):
        for name, one in read(file, mode).items():
            counts[feature_of(name)][column] += one.good
    return {feature: (upstream, ours) for feature, (upstream, ours) in sorted(counts.items()) if upstream or ours}
