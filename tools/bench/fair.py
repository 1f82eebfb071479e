#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Time from asking for a share until it is available, for nine modest projects, beside one that always has a backlog.

Everything in one process, SQLite; a dummy backend whose creates are slow, so that workers are scarce. A modest project
asks for a share, waits for it, and some time later asks for the next. The greedy one has 28 to 40 asked for at any time. The
baseline is the modest ones alone.
"""

import concurrent.futures
import random
import sys
import time

import product
import report

_MODEST = 9
_BACKLOG = 28
_PORTION = 12


def fill_backlog(client: product.Client) -> None:
    """Ask for so many shares that the backlog of the greedy project is full."""
    waits = count(client, 'creating')
    for _ in range(_BACKLOG + _PORTION - waits if waits < _BACKLOG else 0):
        client.create()


def count(client: product.Client, status: str) -> int:
    """Return how many shares of the client's project have the status."""
    return int(client.ask('GET', f'/shares?status={status}&limit=1&with_count=true')['count'])


def modest(made: product.Product, each: int, seconds: float) -> list[float]:
    """Return the milliseconds for each share of each modest project; a create takes ``seconds`` at the backend."""

    def project(number: int) -> list[float]:
        client, dice = made.client(f'modest{number}'), random.Random(number)
        taken = []
        for _ in range(each):
            time.sleep(dice.uniform(0, 2 * seconds))
            began = time.perf_counter()
            client.wait(f'/shares/{client.create()}', 'share', 'available', pause=seconds / 40)
            taken.append((time.perf_counter() - began) * 1e3)
        return taken

    with concurrent.futures.ThreadPoolExecutor(_MODEST) as threads:
        return [one for taken in threads.map(project, range(_MODEST)) for one in taken]


def measure(figures: report.Report) -> None:
    """Measure, and add the lines."""
    seconds, each = figures.pick((0.2, 2), (1.0, 10), (2.0, 25))
    with product.Product() as made:
        made.knobs(f'create_share:delay={seconds}')
        made.start('all_in_one')
        made.ready()
        report.say(f'{_MODEST} projects ask for {each} shares each, which take {seconds:g} s at the backend')
        modest(made, 1, 0.1)  # caches are empty for the first ones
        alone = modest(made, each, seconds)
        report.say(f'the same, while another has {_BACKLOG} asked for at any time')
        client = made.client('greedy')
        fill_backlog(client)
        greedy = product.Repeated(lambda: fill_backlog(client), 0.1)
        try:
            beside = modest(made, each, seconds)
        finally:
            greedy.end()
        got = count(client, 'available')
    base = {
        part: figures.add(f'alone, p{part * 100:.0f}', report.percentile(alone, part), 'ms')
        for part in (0.5, 0.99)
    }
    for part, line in base.items():
        figures.add(
            f'beside a greedy project, p{part * 100:.0f}',
            report.percentile(beside, part),
            'ms',
            line,
            most=2.0 if part > 0.9 and figures.size != report.TINY else None,
        )
    figures.add('beside a greedy project, the longest', max(beside), 'ms', base[0.99])
    figures.note(f'{len(beside)} shares; the greedy project got {got} meanwhile.')


if __name__ == '__main__':
    sys.exit(report.main(__doc__, measure))
