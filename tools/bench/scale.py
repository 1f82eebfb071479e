#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How figures grow from 1,000 shares to 10,000 and 100,000, in 1,000 projects and on 200 pools.

The shares are made through the database, since the API would take hours; the dummy backend has them all. A tenth of them
are the caller's project's. API under uwsgi with two processes, scheduler and share manager, with RabbitMQ and Keystone. The
baseline of each figure is that with the fewest shares. Memory is that of a product with the fewest shares, before and after
many more were made and deleted.
"""

import contextlib
import dataclasses
import sys
import time

import cloud
import filling
import phases
import product
import report
from phases import Figure, with_sums

from manila_lite.tests import waiting

_PAGE = 1000
_HOST = 'bench@alpha'
#: Processor seconds of the servers in a second, when they have nothing to do but what idle processes ask of them.
_REST = 0.1


def _ensured(side: cloud.Side) -> None:
    path = f'/services?host={_HOST}&binary=manila-share'
    waiting.until(
        lambda: not any(one['ensuring'] for one in side.admin.ask('GET', path)['services']),
        'the shares are ensured',
        pause=0.2,
    )


def _settled(around: cloud.Cloud) -> None:
    """Wait until the servers have done what the filling left to do: nothing of it is the product's."""

    def rests() -> bool:
        before = sum(map(cloud.used, around.processes.values()))
        time.sleep(1)
        return sum(map(cloud.used, around.processes.values())) - before < _REST

    waiting.until(rests, 'the servers come to rest')


def ensure(side: cloud.Side, count: int) -> phases.Samples:
    """Ensure all shares of the backend; figures are for each share."""
    with side.meter.each(count) as used:
        side.admin.ask('POST', '/services/ensure-shares', {'ensure_shares': {'host': _HOST}})
        _ensured(side)
    return {('ensure', name): [value] for name, value in used.items()}


def pages(side: cloud.Side, amounts: phases.Amounts, count: int) -> phases.Samples:
    """Read the first and the last page of all shares, as an administrator."""
    found: phases.Samples = {}
    for phase, offset in (('first', 0), ('last', max(0, count - _PAGE))):
        path = f'/shares/detail?all_tenants=1&limit={_PAGE}&offset={offset}'
        found |= phases.page(side, phase, path, amounts.lists, side.admin)
    return found


def stage(side: cloud.Side, amounts: phases.Amounts, count: int) -> phases.Samples:
    """Do everything at one number of shares; return the samples."""
    warm = phases.Amounts(1, 2, 8, 2, 4, 1)
    for phase in (phases.alone, phases.single, phases.deletes):
        phase(side, warm)
    found: phases.Samples = {}
    for phase in (phases.alone, phases.burst, phases.single, phases.shows, phases.lists):
        found |= phase(side, amounts)
    found |= pages(side, amounts, count)
    found |= phases.deletes(side, amounts)
    return with_sums(found | ensure(side, count))


def lines(database: str) -> list[Figure]:
    """Return the figures; ``database``: the name of its process, or '' if it is in those of the product."""

    def of(what: str, phase: str, *parts: str, unit: str = 'ms') -> list[Figure]:
        shown = [*parts, database] if database else parts
        counted = [Figure(f'{what}: statements', '', phase, 'statements')] if database else []
        return [Figure(f'{what}: CPU of {part}', unit, phase, part) for part in shown] + counted

    def paged(what: str, phase: str) -> list[Figure]:
        return [
            Figure(f'{what}, per row, p50', 'us', phase, 'times'),
            *of(f'{what}, per row', phase, 'API', unit='us'),
        ]

    return [
        *paged(f'list of {phases.PAGE} of the project', 'list'),
        *paged(f'first page of {_PAGE:,} of all', 'first'),
        *paged(f'last page of {_PAGE:,} of all', 'last'),
        Figure('show, p50', 'ms', 'show', 'times'),
        *of('show', 'show', 'API'),
        Figure('create accepted (with the quota check), p50', 'ms', 'single', 'accepted'),
        Figure('available after that, p50', 'ms', 'single', 'available'),
        *of('create, place and make a share, 1 client', 'alone', 'API', 'scheduler', 'manager'),
        Figure('create accepted, 8 clients', '/s', 'burst', 'rate'),
        *of('create, place and make a share, 8 clients', 'burst', 'API', 'scheduler', 'manager'),
        Figure('rule granted to active, p50', 'ms', 'single', 'rule'),
        Figure('delete accepted, 8 clients', '/s', 'delete', 'rate'),
        *of('delete a share', 'delete', 'API', 'manager'),
        *of('ensure, per share', 'ensure', 'manager'),
    ]


def weights(side: cloud.Side) -> dict[str, float]:
    """Return the MiB of the largest process of each part; memory that processes share counts in parts."""
    return {
        name: max(one.memory_full_info().pss for one in product.family(side.meter.processes[name])) / 2**20
        for name in cloud.PARTS
    }


def churn(side: cloud.Side, figures: report.Report, count: int) -> None:
    """Make and delete so many shares; add lines of the memory before and after."""
    first = {name: figures.add(f'memory of {name}', value, 'MiB') for name, value in weights(side).items()}
    portion = min(count, 400)
    for done in range(0, count, portion):
        now = ', '.join(f'{name} {value:.1f}' for name, value in weights(side).items())
        report.say(f'{done:,} of {count:,} made and deleted; MiB: {now}')
        phases.burst(side, phases.Amounts(1, 0, portion, 0, 0, 0))
        phases.deletes(side, phases.Amounts(1, 0, 0, 0, 0, 0))
    for name, value in weights(side).items():
        figures.add(f'memory of {name} after {count:,} made and deleted', value, 'MiB', first[name])


@cloud.measured
def measure(figures: report.Report) -> None:
    """Start everything, measure, and add the lines.

    :raises daemon.Missing: a server is not installed.
    """
    amounts = phases.Amounts(1, *figures.pick((2, 8, 2, 4, 2), (30, 40, 10, 60, 5), (100, 160, 40, 300, 20)))
    stages = figures.pick((100, 200), (1000, 10_000, 100_000), (1000, 10_000, 100_000))
    many = figures.args.churn or figures.pick(8, 400, 4000)
    taken: dict[int, phases.Samples] = {}
    with contextlib.ExitStack() as stack:
        report.say('servers start')
        around = cloud.Cloud(stack, figures.args.database)
        pools = ', '.join(map(filling.pool, range(filling.POOLS)))
        made = stack.enter_context(cloud.Ours(around, backend=f'dummy_pools = {pools}\n'))
        there = 0
        for count in stages:
            report.say(f'{count:,} shares: filling')
            filling.fill(made.config, around.keystone.projects['demo'], there, count)
            there = count
            report.say(f'{count:,} shares: measuring')
            side = cloud.Side(around, made)
            _ensured(side)
            _settled(around)
            taken[count] = stage(side, amounts, count)
            if count == stages[0]:
                churn(side, figures, many)
            made.end()
        database = next(iter(around.processes)) if len(around.processes) > 1 else ''
    for one in lines(database):
        base = None
        for count in stages:
            line = figures.add(f'{one.what}, {count:,} shares', one.of(taken[count]), one.unit, base)
            base = base or dataclasses.replace(line, what=f'{count:,} shares')
    figures.note(
        f'{filling.PROJECTS:,} projects, {filling.POOLS} pools of one backend; one project has a tenth of the shares.'
    )
    figures.note('Times are by the clock, CPU is processor time.')


if __name__ == '__main__':
    sys.exit(
        report.main(
            __doc__,
            measure,
            {
                '--database': {
                    'choices': sorted(cloud.KINDS),
                    'default': 'mariadb',
                    'help': 'default: mariadb',
                },
                '--churn': {
                    'type': int,
                    'metavar': 'N',
                    'help': 'shares to make and delete before memory is measured again',
                },
            },
        )
    )
