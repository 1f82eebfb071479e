# SPDX-License-Identifier: Apache-2.0
"""Outcomes of the published tests, by mode: those of upstream are in upstream.tsv, intended differences in differences.tsv.

Scenario tests have no outcome of upstream; skips.tsv has those that cannot run here.

An outcome is ``pass``, ``fail`` or ``skip``; the last two have a reason.
"""

import csv
import dataclasses
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

PASS, FAIL, SKIP = 'pass', 'fail', 'skip'
_HERE = Path(__file__).parent
UPSTREAM, DIFFERENCES, SKIPS = (_HERE / f'{name}.tsv' for name in ('upstream', 'differences', 'skips'))
#: Name of the "test" that says that no test of a class could run.
_CLASS = 'setUpClass ('


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The outcome of a test."""

    outcome: str
    reason: str = ''

    @property
    def good(self) -> bool:
        return self.outcome == PASS


Outcomes = Mapping[str, Outcome]


def read(file: Path, mode: str) -> dict[str, Outcome]:
    """Return the outcomes of a mode by the names of the tests. For the other files, the reasons; rows may be for ``both``."""
    with file.open() as lines:
        return {
            row['test']: Outcome(row.get('outcome') or '', row['reason'] or '')
            for row in csv.DictReader(lines, delimiter='\t')
            if row['mode'] in (mode, 'both')
        }


def perfect(ours: Outcomes, skips: Iterable[str]) -> dict[str, Outcome]:
    """Return the outcomes to expect where no run of upstream is recorded: a pass, or a skip of a test in ``skips``."""
    known = set(skips)
    return {
        name: one if one.outcome == SKIP and name in known else Outcome(PASS) for name, one in ours.items()
    }


def chosen(found: Outcomes, names: Iterable[str]) -> dict[str, Outcome]:
    """Return the outcomes of the tests whose names match one of the regular expressions; of all, without any."""
    wanted = [re.compile(name) for name in names]
    return {
        name: one for name, one in found.items() if not wanted or any(regex.search(name) for regex in wanted)
    }


def portion(mode: str, turn: int, of: int) -> list[str]:
    """Return regular expressions of the classes of tests of a mode whose turn it is: one of so many (``of``) each time."""
    names = sorted({name.rpartition('.')[0] for name, one in read(UPSTREAM, mode).items() if one.good})
    return [f'^{re.escape(name)}\\.' for name in names[turn % of :: of]]


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
        if (
            mine.outcome == FAIL
            and not name.startswith(_CLASS)
            and upstream.get(name, Outcome(SKIP)).outcome == SKIP
        ):
            found[name] = mine.reason
    return {name: reason for name, reason in found.items() if name not in set(allowed)}


def _why(name: str, mine: Outcome | None, ours: Outcomes) -> str:
    """Return why a test did not pass; one that did not run may be of a class that could not begin."""
    if mine is not None:
        return mine.reason
    of_class = ours.get(f'{_CLASS}{name.rpartition(".")[0]})')
    return of_class.reason if of_class else 'It did not run.'
