# SPDX-License-Identifier: Apache-2.0
"""The scores and the survivors, as reStructuredText: a part of doc/source/contributor/mutation.rst when it is built."""

import collections
import pathlib

import yaml

from mutation import judge, mutants, results
from mutation.mutants import Mutant

_REASONS = pathlib.Path(__file__).with_name('survivors.yaml')


def text(root: pathlib.Path) -> str:
    """Return how many of the tested faults were noticed, and which were not."""
    every = {mutant.key: mutant for mutant in mutants.every(root)}
    known = results.Results()
    judged = [(every[key], verdict) for key, verdict in known.known.items()
              if key in every and verdict.outcome != judge.NOTHING]
    reasons = yaml.safe_load(_REASONS.read_text()) or {}
    return '\n'.join([*_scores(every, judged, reasons), *_survivors(judged, reasons)])


def score(wanted: list[Mutant], known: results.Results) -> str:
    """Return how many of these faults were judged, noticed and explained, as a line."""
    reasons = yaml.safe_load(_REASONS.read_text()) or {}
    judged = [(mutant, known.known[mutant.key]) for mutant in wanted
              if mutant.key in known.known and known.known[mutant.key].outcome != judge.NOTHING]
    noticed = sum(_noticed(verdict) for _, verdict in judged)
    explained = sum(not _noticed(verdict) and bool(_reason(reasons, mutant)) for mutant, verdict in judged)
    share = 100 * (noticed + explained) / max(len(judged), 1)
    return f'{len(judged)} of {len(wanted)} judged: {noticed} noticed, {explained} explained, {share:.1f} %'


def _noticed(verdict: judge.Verdict) -> bool:
    return verdict.outcome in (judge.KILLED, judge.SLOW)


def _reason(reasons: dict[str, str], mutant: Mutant) -> str:
    return reasons.get(mutant.key) or reasons.get(f'{mutant.kind} {mutant.text}', '')


def _scores(every: dict[str, Mutant], judged: list, reasons: dict) -> list[str]:
    rows = []
    for title, name in (('What must not break', _kind), ('File', _file)):
        of = collections.Counter(name(mutant) for mutant in every.values())
        seen = collections.Counter(name(mutant) for mutant, _ in judged)
        good = collections.Counter(name(mutant) for mutant, verdict in judged if _noticed(verdict))
        explained = collections.Counter(name(mutant) for mutant, verdict in judged
                                   if not _noticed(verdict) and _reason(reasons, mutant))
        rows += ['', f'.. list-table:: {title}', '   :header-rows: 1', '']
        rows += _row(title, 'faults', 'judged', 'noticed', 'explained', '%')
        for each in sorted(name for name in seen if name):
            share = 100 * (good[each] + explained[each]) / seen[each]
            rows += _row(each, of[each], seen[each], good[each], explained[each], f'{share:.0f}')
        total, all_good = sum(seen.values()), sum(good.values())
        if name is _file and total:
            rows += _row('all', sum(of.values()), total, all_good, sum(explained.values()),
                         f'{100 * (all_good + sum(explained.values())) / total:.1f}')
    return rows


def _row(*cells: object) -> list[str]:
    return [f'   {"* -" if not number else "  -"} {cell}' for number, cell in enumerate(cells)]


def _kind(mutant: Mutant) -> str:
    return mutant.critical


def _file(mutant: Mutant) -> str:
    return mutant.path.removeprefix('manila_lite/')


def _survivors(judged: list, reasons: dict) -> list[str]:
    lines = ['', 'Not noticed', '-----------', '']
    for mutant, verdict in sorted(judged, key=lambda each: (each[0].path, each[0].line, each[0].key)):
        if not _noticed(verdict):
            text = mutant.text.replace('`', "'")[:90].rstrip(' \\')
            why = (_reason(reasons, mutant) or
                   ('open' if verdict.outcome == judge.SURVIVED else 'open: no test reaches it'))
            where = f'{_file(mutant)}, {mutant.definition or "module"}'
            lines.append(f'* ``{mutant.key}`` {where}, {mutant.kind}: ``{text}``. {why}')
    return lines
