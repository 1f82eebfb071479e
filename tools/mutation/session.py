# SPDX-License-Identifier: Apache-2.0
"""Tests of many faults, several at once, which can be stopped at any moment."""

import argparse
import os
import pathlib
import queue
import threading
import time

from mutation import judge, mutants, report, results
from mutation.mutants import Mutant
from mutation.reach import Reach


def run(root: pathlib.Path, store: pathlib.Path, wanted: list[Mutant], asked: argparse.Namespace) -> int:
    """Test the faults that were not tested yet, or that survived and shall be tested again."""
    if not (store / 'reach.json').exists():
        print('tools/mutate: nothing is recorded yet; run tools/mutate record first')
        return 2
    known = results.Results()
    waiting: queue.SimpleQueue[Mutant] = queue.SimpleQueue()
    todo = [mutant for mutant in wanted if asked.key or _to_judge(known, mutant, again=asked.again)]
    for mutant in todo:
        waiting.put(mutant)
    print(f'{len(todo)} of {len(wanted)} faults to judge', flush=True)
    reach, end = Reach(root, store), time.monotonic() + asked.minutes * 60
    workers = [threading.Thread(target=_work, args=(root, store / f'tree-{number}', reach, waiting, known, asked, end))
               for number in range(asked.workers)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    known.tidy({mutant.key for mutant in mutants.every(root)})
    print(f'{waiting.qsize()} left')
    print(report.score(wanted, known))
    return 0


def _to_judge(known: results.Results, mutant: Mutant, *, again: bool) -> bool:
    verdict = known.known.get(mutant.key)
    return verdict is None or (again and verdict.outcome in (judge.SURVIVED, judge.UNREACHED))


def _work(root: pathlib.Path, tree: pathlib.Path, reach: Reach, waiting: 'queue.SimpleQueue[Mutant]', known: results.Results,
          asked: argparse.Namespace, end: float) -> None:
    court = judge.Court(root, tree, reach, os.path.join(os.environ['VIRTUAL_ENV'], 'bin', 'python'))
    while time.monotonic() < end:
        try:
            mutant = waiting.get_nowait()
        except queue.Empty:
            return
        began = time.monotonic()
        verdict = court.judge(mutant, asked.tests, asked.seconds, asked.by or ())
        known.add(mutant.key, verdict)
        print(f'{waiting.qsize():6} {mutant.key} {verdict.outcome:9} {time.monotonic() - began:5.1f} s'
              f' {mutant.path}:{mutant.line} {mutant.kind} {mutant.critical}: {mutant.text[:70]} [{verdict.by[:80]}]',
              flush=True)
