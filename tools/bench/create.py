#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shares accepted per second of one core: by the API alone, by everything in one process, and with servers around it.

The baseline is what SQLite itself can take: two rows in a transaction that is on disk when it ends. All figures are
of processor time in the product's processes (the wall clock's rate is shown too); the database server's is its own.
"""

import contextlib
import sqlite3
import statistics
import sys
import tempfile
from pathlib import Path

import product
import report
from oslo_utils import uuidutils

from manila_lite.tests.services import broker, daemon, databases, places

#: 600 a second of 14,900 transactions: see the design's section 7.
LEAST = 0.04
#: Smallest ratio with a broker to that without one.
WITH_BROKER = 0.9


def raw_inserts(count: int) -> float:
    """Return transactions of one share-like and one task-like row, per second of processor time."""
    with tempfile.TemporaryDirectory() as folder:
        conn = sqlite3.connect(f'{folder}/raw.sqlite', isolation_level=None)
        for pragma in ('journal_mode=WAL', 'synchronous=FULL'):
            conn.execute(f'PRAGMA {pragma}')
        conn.execute(
            'CREATE TABLE shares (id TEXT PRIMARY KEY, project TEXT, '
            'a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r)'
        )
        conn.execute('CREATE INDEX by_project ON shares (project)')
        conn.execute(
            'CREATE TABLE tasks (seq INTEGER PRIMARY KEY, share TEXT, kind TEXT, state TEXT, data TEXT)'
        )
        share = 'INSERT INTO shares VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)'

        def insert() -> None:
            share_id = uuidutils.generate_uuid()
            conn.execute('BEGIN IMMEDIATE')
            conn.execute(share, [share_id, 'p', *(f'value {number}' for number in range(18))])
            conn.execute(
                'INSERT INTO tasks (share, kind, state, data) VALUES (?, ?, ?, ?)',
                (share_id, 'c', 'open', '{}'),
            )
            conn.execute('COMMIT')

        rate = 1e6 / report.costs([insert], count)[0]
        conn.close()
        return rate


class Running:
    """A product of which one part runs and has served a few requests for shares."""

    def __init__(self, made: product.Product, part: str, warm: int):
        self._made = made
        self._process = made.start(part)
        made.ready(int(part == 'all_in_one'))
        self.rates(1, warm)

    def rates(self, clients: int, requests: int) -> tuple[float, float]:
        """Return accepted shares per second of its processor time, and of the clock."""
        began = product.processor_time(self._process)
        crowd = [self._made.client() for _ in range(clients)]
        for client in crowd:
            client.ask('GET', '/types')  # so that it is connected
        seconds, _, _ = product.crowd(crowd, [product.Client.create] * requests)
        return requests / (product.processor_time(self._process) - began), requests / seconds


def median(rates: list[tuple[float, float]], which: int) -> float:
    """Return the median by processor time (0) or by the clock (1)."""
    return statistics.median(rate[which] for rate in rates)


def embedded(figures: report.Report) -> None:
    """Measure SQLite without a broker, in turns with SQLite by itself, so that both meet the same load of the machine."""
    requests, rounds = figures.pick((16, 1), (96, 5), (480, 7))
    report.say('API alone, SQLite, in turns with SQLite by itself')
    alone: list[float] = []
    rates: dict[int, list[tuple[float, float]]] = {1: [], 8: []}
    with product.Product() as made:
        running = Running(made, 'api', requests)
        for _ in range(rounds):
            alone.append(raw_inserts(requests))
            for clients, taken in rates.items():
                taken.append(running.rates(clients, requests))
    base = figures.add('raw SQLite transactions', statistics.median(alone), '/s of a core')
    for clients, taken in rates.items():
        figures.add(
            f'accepted, API alone, {clients} clients', median(taken, 0), '/s of a core', base, least=LEAST
        )
        figures.add(f'the same by the clock, {clients} clients', median(taken, 1), '/s')
    report.say('all in one process, SQLite, 8 clients')
    with product.Product() as made:
        running = Running(made, 'all_in_one', requests)
        taken = [running.rates(8, requests) for _ in range(rounds)]
    figures.add('accepted while placing and making them too', median(taken, 0), '/s of a core', base)


def clustered(figures: report.Report) -> None:
    """Measure PostgreSQL with and without RabbitMQ in turns, so that both meet the same load of the machine."""
    requests, rounds = figures.pick((16, 1), (96, 9), (480, 11))
    with contextlib.ExitStack() as stack:
        report.say('PostgreSQL and RabbitMQ start')
        server = stack.enter_context(databases.PostgreSQL())
        bus = stack.enter_context(broker.RabbitMQ())
        running = []
        for url in ('inproc://', stack.enter_context(places.EmptyBus(bus.url, bus.admin_url)).url):
            database = stack.enter_context(places.EmptyDatabase(Path(), server=server.url)).url
            running.append(Running(stack.enter_context(product.Product(database, url)), 'api', requests))
        report.say('API alone, PostgreSQL, without and with RabbitMQ in turns')
        taken = [[one.rates(8, requests) for one in running] for _ in range(rounds)]
    base = figures.add(
        'accepted, PostgreSQL, no broker, 8 clients', median([pair[0] for pair in taken], 0), '/s of a core'
    )
    figures.add('the same by the clock, no broker', median([pair[0] for pair in taken], 1), '/s')
    figures.add(
        'accepted, PostgreSQL and RabbitMQ',
        median([pair[1] for pair in taken], 0),
        '/s of a core',
        base,
        least=WITH_BROKER,
    )
    figures.add('the same by the clock, RabbitMQ', median([pair[1] for pair in taken], 1), '/s')


def measure(figures: report.Report) -> None:
    """Measure, and add the lines."""
    embedded(figures)
    if figures.size == report.TINY:
        return
    try:
        clustered(figures)
    except daemon.Missing as missing:
        figures.note(f'PostgreSQL and RabbitMQ were not measured: {missing}')


if __name__ == '__main__':
    sys.exit(report.main(__doc__, measure))
