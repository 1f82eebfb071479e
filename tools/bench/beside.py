#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The product with MariaDB, RabbitMQ and Keystone, and beside it a peer, with the same servers, in turns.

API under uwsgi with two processes, scheduler, and share manager with a dummy driver without delay, for each of them. The peer
is Manila as published, in an environment of its own. The baseline of each figure is the peer's. Without a peer there are only
our own figures.
"""

import contextlib
import sys

import cloud
import phases
import report
from phases import SUM, Figure, p99, with_sums

PEERS = {'none': None, 'manila': cloud.Manila}
_ALL = (*cloud.PARTS, 'MariaDB', 'RabbitMQ')
#: Goals are those of the issue, divided by what Manila did when they were set.
FIGURES = (
    Figure('create accepted, 1 client', '/s', 'alone', 'rate', least=50),
    Figure('create accepted, 8 clients', '/s', 'burst', 'rate', least=50),
    Figure('create, 8 clients, p50', 'ms', 'burst', 'times', most=20 / 957),
    Figure('create, 8 clients, p99', 'ms', 'burst', 'times', p99, most=60 / 1332),
    Figure('statements per share, 1 client', '', 'alone', 'statements'),
    Figure('statements per share, 8 clients', '', 'burst', 'statements', most=12 / 205),
    Figure('CPU of API, scheduler, manager per share, 1 client', 'ms', 'alone', SUM),
    Figure('CPU of API, scheduler, manager per share, 8 clients', 'ms', 'burst', SUM, most=4 / 240),
    *(
        Figure(f'CPU of {name} per share, {clients}', 'ms', phase, name)
        for phase, clients in (('alone', '1 client'), ('burst', '8 clients'))
        for name in _ALL
    ),
    Figure('GET share, p50', 'ms', 'show', 'times', most=1.2 / 14),
    Figure('GET share, CPU of the API', 'ms', 'show', 'API'),
    Figure('GET share, CPU of MariaDB', 'ms', 'show', 'MariaDB'),
    Figure('GET share, statements', '', 'show', 'statements'),
    Figure('GET types, 8 clients', '/s', 'types', 'rate', least=2000 / 187),
    Figure('GET types, 8 clients, CPU of the API', 'ms', 'types', 'API'),
    Figure('list detail, per row, p50', 'us', 'list', 'times', most=15 / 551),
    Figure('list detail, per row, CPU of the API', 'us', 'list', 'API'),
    Figure('list detail, per row, CPU of MariaDB', 'us', 'list', 'MariaDB'),
    Figure('alone: accepted, p50', 'ms', 'single', 'accepted'),
    Figure('alone: available after that, p50', 'ms', 'single', 'available'),
    Figure('rule granted to active, p50', 'ms', 'single', 'rule', most=15 / 407),
    Figure('delete accepted, 8 clients', '/s', 'delete', 'rate', least=50),
    Figure('statements per deleted share', '', 'delete', 'statements'),
    *(Figure(f'CPU of {name} per deleted share', 'ms', 'delete', name) for name in _ALL),
)


def rounds(running: dict[str, cloud.Side], amounts: phases.Amounts) -> dict[str, phases.Samples]:
    """Do each phase on one side after the other, so that all meet the same load of the machine; return samples by side."""
    found: dict[str, phases.Samples] = {name: {} for name in running}
    for number in range(amounts.rounds + 1):
        report.say(f'round {number} of {amounts.rounds}' if number else 'a first round fills the caches')
        for phase in phases.PHASES:
            for name, side in running.items():
                samples = phase(side, amounts if number else phases.Amounts(1, 2, 8, 2, 4, 1))
                for key, values in samples.items() if number else ():
                    found[name].setdefault(key, []).extend(values)
    return {name: with_sums(samples) for name, samples in found.items()}


@cloud.measured
def measure(figures: report.Report) -> None:
    """Start everything, measure, and add the lines.

    :raises daemon.Missing: a server, or the peer, is not installed.
    """
    amounts = phases.Amounts(
        *figures.pick((1, 2, 8, 2, 4, 2), (2, 30, 160, 10, 100, 15), (5, 80, 400, 40, 400, 40))
    )
    kinds = {'manila_lite': cloud.Ours, figures.args.peer: PEERS[figures.args.peer]}
    with contextlib.ExitStack() as stack:
        report.say('MariaDB, RabbitMQ and Keystone start')
        around = cloud.Cloud(stack, driver=figures.args.driver)
        running = {}
        for name, kind in kinds.items():
            if kind:
                report.say(f'{name} starts')
                running[name] = cloud.Side(around, stack.enter_context(kind(around)))
        found = rounds(running, amounts)
    ours, theirs = found.pop('manila_lite'), found.get(figures.args.peer)
    for one in FIGURES:
        base = None
        if theirs:
            value = one.of(theirs)
            base = report.Line(f"{figures.args.peer}'s {value:.4g}", value, one.unit)
        figures.add(one.what, one.of(ours), one.unit, base, least=one.least, most=one.most)
    figures.note(
        'Times are by the clock; CPU is processor time, of MariaDB and RabbitMQ too. MariaDB counts the statements.'
    )
    figures.note('Figures of a share are from the request until it is available, or gone.')


if __name__ == '__main__':
    sys.exit(
        report.main(
            __doc__,
            measure,
            {
                '--peer': {'choices': sorted(PEERS), 'default': 'none', 'help': 'default: none'},
                '--driver': {
                    'choices': ['pymysql', 'mysqldb'],
                    'default': 'pymysql',
                    'help': 'of MariaDB; default: pymysql',
                },
            },
        )
    )
