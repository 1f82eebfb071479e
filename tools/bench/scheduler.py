#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Decisions of the scheduler at 100, 1,000 and 10,000 pools: from the request to the claim that is committed.

About one pool in twelve fits. Beside it what it consists of: the choice alone, and the claim alone, which is the
baseline; and the way it is not done: every filter asked about every pool.
"""

import itertools
import random
import sys
import time

import inside
import report
from oslo_utils import timeutils

from manila_lite.db import models
from manila_lite.db.queries import pool_reports, services
from manila_lite.scheduler import service as scheduler
from manila_lite.scheduler.interface import PlacementRequest, PoolState

REQUEST = PlacementRequest(
    10,
    {
        'driver_handles_share_servers': 'False',
        'snapshot_support': '<is> True',
        'dedupe': '<is> True',
        'vendor:tier': 'gold',
    },
    availability_zone='zone1',
)
#: Smallest ratio to claims alone, of decisions per second of one core at the largest number of pools.
LEAST = 0.3
_ZONES, _KINDS, _BACKEND = 4, 3, 10
_ROOM = 1_000_000.0


def fill(conn, count: int) -> None:
    """Make ``count`` pools, ten to a backend: one in four is in the zone, one in three of those has the capabilities."""
    rng = random.Random(count)
    conn.execute(models.pools.delete())
    rows = []
    for number in range(count):
        backend = f'host{number // _BACKEND}@backend'
        if number % _BACKEND == 0:
            services.heartbeat(conn, backend, 'manila-share', f'zone{number // _BACKEND % _ZONES}')
        kind = number % _KINDS
        rows.append(
            {
                'host': f'{backend}#pool{number}',
                'backend_host': backend,
                'total_gb': 2 * _ROOM,
                'free_gb': _ROOM + rng.randrange(1000),
                'reserved_percentage': 5,
                'generation': rng.getrandbits(30),
                'reported_at': timeutils.utcnow(),
                'capabilities': {
                    'storage_protocol': 'NFS',
                    'driver_handles_share_servers': False,
                    'snapshot_support': True,
                    'dedupe': kind == 0,
                    'pool_name': f'pool{number}',
                    'share_backend_name': f'kind{kind}',
                },
            }
        )
    conn.execute(models.pools.insert(), rows)


def naive(chooser, pools: list[PoolState]) -> list[PoolState]:
    """Return the pools that fit, found without kept verdicts."""
    filters = [item for item in (*chooser._static, *chooser._dynamic) if item.applies(REQUEST)]  # noqa: SLF001
    return [pool for pool in pools if all(item.check(REQUEST, pool) is None for item in filters)]


def compare(figures: report.Report, made: inside.Inside, count: int) -> None:
    """Measure, and add the lines for so many pools."""
    db = made.services.db
    with db.writer() as conn:
        fill(conn, count)
    one = scheduler.Scheduler(made.services)
    with db.reader() as conn:
        began = time.process_time()
        groups = one.hosts.pools(conn)
        first = time.process_time() - began
        began = time.process_time()
        one.hosts.pools(conn, not_before=time.monotonic())
        look = time.process_time() - began
    pools = list(groups)
    fitting = itertools.cycle(naive(one.placement, pools))

    def claim() -> None:
        pool = next(fitting)
        with db.writer() as conn:
            assert pool_reports.claim_space(conn, pool.host, pool.generation, REQUEST.size, _ROOM)

    def decide() -> None:
        with db.writer() as conn:
            scheduler.choose(conn, one, REQUEST)

    calls, rounds = figures.pick((20, 1), (100, 11), (500, 15))
    alone, whole, choice = report.costs(
        (claim, decide, lambda: one.placement.place(REQUEST, groups)), calls, rounds
    )
    label = f'{count:,} pools: '
    base = figures.add(f'{label}claim alone', 1e6 / alone, '/s of a core')
    figures.add(
        f'{label}decision', 1e6 / whole, '/s of a core', base, least=LEAST if count == 10_000 else None
    )
    figures.add(f'{label}choice alone', 1e6 / choice, '/s of a core', base)
    figures.add(
        f'{label}every filter, every pool',
        1e6 / report.costs([lambda: naive(one.placement, pools)], 1, rounds)[0],
        '/s of a core',
        base,
    )
    figures.add(f'{label}first look', first * 1e3, 'ms')
    figures.add(f'{label}look again', look * 1e3, 'ms')


def measure(figures: report.Report) -> None:
    """Measure, and add the lines."""
    with inside.inside() as made:
        made.services.conf.set_override('service_down_time', 86400)  # no heartbeats here
        for count in figures.pick((100,), (100, 1000, 10_000), (100, 1000, 10_000)):
            report.say(f'{count:,} pools')
            compare(figures, made, count)


if __name__ == '__main__':
    sys.exit(report.main(__doc__, measure))
