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
from collections.abc import Iterator
from pathlib import Path

import product
import report
from oslo_utils import uuidutils

from manila_lite.tests.services import broker, daemon, databases, places

#: 600 a second of 14,900 transactions: see the design's section 7.
LEAST = 0.04
#: With a broker there may be this much less.
WITH_BROKER = 0.9


def raw_inserts(count: int) -> float:
    """Return transactions of one share-like and one task-like row, by a second of processor time."""
    with tempfile.TemporaryDirectory() as folder:
        conn = sqlite3.connect(f'{folder}/raw.sqlite', isolation_level=None)
        for pragma in ('journal_mode=WAL', 'synchronous=FULL'):
            conn.execute(f'PRAGMA {pragma}')
        conn.execute('CREATE TABLE shares (id TEXT PRIMARY KEY, project TEXT, a, b, c, d, e, f, g, h, i, j, k, l)')
        conn.execute('CREATE INDEX by_project ON shares (project)')
        conn.execute('CREATE TABLE tasks (seq INTEGER PRIMARY KEY, share TEXT, kind TEXT, state TEXT, data TEXT)')
        share = 'INSERT INTO shares VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)'

        def insert() -> None:
            ident = uuidutils.generate_uuid()
            conn.execute('BEGIN IMMEDIATE')
            conn.execute(share, [ident, 'p', *(f'value {number}' for number in range(12))])
            conn.execute('INSERT INTO tasks (share, kind, state, data) VALUES (?, ?, ?, ?)', (ident, 'c', 'open', '{}'))
            conn.execute('COMMIT')
        found = 1e6 / report.cost(insert, count)
        conn.close()
        return found


def accepted(made: product.Product, part: str, clients: int, requests: int, rounds: int) -> tuple[float, float]:
    """Return shares accepted by a second of processor time, and of the clock; medians of rounds."""
    process = made.start(part)
    try:
        client = made.answers()
        if part == 'all_in_one':
            made.wait_for_pool(client)
        product.load(made.port, clients, max(10, requests // 5))
        rates = []
        for _ in range(rounds):
            began = product.processor_time(process)
            seconds = product.load(made.port, clients, requests)
            rates.append((requests / (product.processor_time(process) - began), requests / seconds))
        return statistics.median(rate[0] for rate in rates), statistics.median(rate[1] for rate in rates)
    finally:
        made.end()


def embedded(found: report.Report, base: report.Line) -> None:
    """SQLite, no broker."""
    requests, rounds = found.pick((20, 1), (200, 3), (1000, 5))
    for clients in (1, 8):
        report.say(f'API alone, SQLite, {clients} clients')
        with product.product() as made:
            made.sync()
            rate, wall = accepted(made, 'api', clients, requests, rounds)
        found.add(f'accepted, API alone, {clients} clients', rate, '/s of a core', base, least=LEAST)
        found.add(f'the same by the clock, {clients} clients', wall, '/s')
    report.say('all in one process, SQLite, 8 clients')
    with product.product() as made:
        rate, _ = accepted(made, 'all_in_one', 8, requests, rounds)
    found.add('accepted while placing and making them too', rate, '/s of a core', base)


@contextlib.contextmanager
def servers() -> Iterator[tuple[str, broker.RabbitMQ]]:
    """A private PostgreSQL and RabbitMQ."""
    with databases.PostgreSQL() as database, broker.RabbitMQ() as bus:
        yield database.url, bus


def clustered(found: report.Report) -> None:
    """PostgreSQL, with and without RabbitMQ in turns, so that both meet the same machine."""
    requests, rounds = found.pick((20, 1), (200, 2), (1000, 3))
    rates: dict[bool, list[float]] = {False: [], True: []}
    with servers() as (database, bus), contextlib.ExitStack() as stack:
        for turn in range(rounds):
            for with_broker in (False, True):
                report.say(f'API alone, PostgreSQL, {"RabbitMQ" if with_broker else "no broker"}, round {turn + 1}')
                url = stack.enter_context(places.EmptyDatabase(Path(), server=database)).url
                wire = stack.enter_context(places.EmptyBus(bus.url, bus.admin_url)).url if with_broker else 'inproc://'
                with product.product(url, wire) as made:
                    made.sync()
                    rates[with_broker].append(accepted(made, 'api', 8, requests, 1)[0])
    base = found.add('accepted, PostgreSQL, no broker, 8 clients', statistics.median(rates[False]), '/s of a core')
    found.add('accepted, PostgreSQL and RabbitMQ', statistics.median(rates[True]), '/s of a core', base, least=WITH_BROKER)


def measure(found: report.Report) -> None:
    """Add the lines."""
    report.say('SQLite by itself')
    base = found.add('raw SQLite transactions', raw_inserts(found.pick(20, 300, 1000)), '/s of a core')
    embedded(found, base)
    if found.size == report.TINY:
        return
    try:
        clustered(found)
    except daemon.Missing as missing:
        found.note(f'PostgreSQL and RabbitMQ were not measured: {missing}')


if __name__ == '__main__':
    sys.exit(report.main(__doc__, measure))
