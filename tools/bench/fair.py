#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Time from asking for a share until it is available, for nine modest projects, beside one that always has a backlog.

Everything in one process, SQLite; a dummy backend whose creates are slow, so that workers are scarce. A modest project
asks for a share, waits for it, and some time later asks for the next. The greedy one has 28 to 40 asked for at any time. The
baseline is the modest ones alone.
"""

import random
import sys
import threading
import time

import product
import report

_MODEST = 9
_BACKLOG = 28
_PORTION = 12


class Greedy:
    """A project that keeps its backlog full until its end. ``made`` counts its shares."""

    def __init__(self, port: int):
        self._client = product.Client(port, 'greedy')
        self._enough = threading.Event()
        self._failed: list[BaseException] = []
        self._wanted = 0
        self.made = 0
        self.full = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            while not self._enough.wait(0.1):
                waits = self._client.ask('GET', '/shares?status=creating&limit=1&with_count=true')['count']
                self.made = self._wanted - waits
                for _ in range(_BACKLOG + _PORTION - waits if waits < _BACKLOG else 0):
                    self._client.create()
                    self._wanted += 1
                self.full.set()
        except BaseException as error:
            self._failed.append(error)
            self.full.set()

    def end(self) -> None:
        """Stop the requests.

        :raises BaseException: the error of the thread, if it failed.
        """
        self._enough.set()
        self._thread.join()
        for error in self._failed:
            raise error


def modest(port: int, count: int, seconds: float) -> list[float]:
    """Return the milliseconds for each share of each modest project; a create takes ``seconds`` at the backend."""
    taken: list[float] = []
    failed: list[BaseException] = []

    def project(number: int) -> None:
        client, dice = product.Client(port, f'modest{number}'), random.Random(number)
        try:
            for _ in range(count):
                time.sleep(dice.uniform(0, 2 * seconds))
                began = time.perf_counter()
                client.wait(f'/shares/{client.create()}', 'share', 'available', pause=seconds / 40)
                taken.append((time.perf_counter() - began) * 1e3)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=project, args=(number,)) for number in range(_MODEST)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for error in failed:
        raise error
    return taken


def measure(figures: report.Report) -> None:
    """Measure, and add the lines."""
    seconds, count = figures.pick((0.2, 2), (1.0, 10), (2.0, 25))
    with product.product() as made:
        made.knobs(f'create_share:delay={seconds}')
        made.start('all_in_one')
        made.wait_for_pool(made.answers())
        report.say(f'{_MODEST} projects ask for {count} shares each, which take {seconds:g} s at the backend')
        modest(made.port, 1, 0.1)       # caches are empty for the first ones
        alone = modest(made.port, count, seconds)
        report.say(f'the same, while another has {_BACKLOG} asked for at any time')
        greedy = Greedy(made.port)
        try:
            greedy.full.wait()
            beside = modest(made.port, count, seconds)
        finally:
            greedy.end()
    base = {part: figures.add(f'alone, p{part * 100:.0f}', report.percentile(alone, part), 'ms') for part in (0.5, 0.99)}
    for part, line in base.items():
        figures.add(f'beside a greedy project, p{part * 100:.0f}', report.percentile(beside, part), 'ms', line,
                  most=2.0 if part > 0.9 and figures.size != report.TINY else None)
    figures.add('beside a greedy project, the longest', max(beside), 'ms', base[0.99])
    figures.note(f'{len(beside)} shares; the greedy project got {greedy.made} meanwhile.')


if __name__ == '__main__':
    sys.exit(report.main(__doc__, measure))
