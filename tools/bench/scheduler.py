#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Time one placement at 100, 1,000 and 10,000 pools in one run: pools kept in groups, or given as a plain list.

About one pool in twelve fits. ``--check`` fails unless kept groups are ten times as fast as asking every filter about
every pool, at 10,000 pools.
"""

import argparse
import itertools
import random
import statistics
import sys
import time

from manila_lite.scheduler import placement
from manila_lite.scheduler.filters import (
    availability_zone,
    capabilities,
    capacity,
    driver_handles_share_servers,
    protocol,
    up,
)
from manila_lite.scheduler.interface import PoolState, Request
from manila_lite.scheduler.weighers import capacity as free_space
from manila_lite.scheduler.weighers import goodness

SIZES = (100, 1_000, 10_000)
NAIVE, LIST, GROUPS, FRESH = ('every filter, every pool', 'placement, plain list', 'placement, kept groups',
                              'placement, pools just read')
REQUEST = Request(10, {'driver_handles_share_servers': 'False', 'snapshot_support': '<is> True', 'dedupe': '<is> True',
                       'vendor:tier': 'gold'}, availability_zone='zone1')


def make_pools(count):
    """One pool in four is in the zone, one in three of those has what the type asks."""
    rng = random.Random(count)
    kinds = itertools.cycle(itertools.product(range(4), range(3)))
    return [PoolState(
        f'host{number // 10}@backend#pool{number}', f'zone{zone}',
        {'storage_protocol': 'NFS', 'driver_handles_share_servers': False, 'snapshot_support': True,
         'dedupe': kind == 0, 'pool_name': f'pool{number}', 'share_backend_name': f'kind{kind}'},
        1000.0, float(rng.randrange(1000)), 5) for number, (zone, kind) in zip(range(count), kinds, strict=False)]


def subjects(count):
    filters = [up.Up(), availability_zone.AvailabilityZone(), driver_handles_share_servers.DriverHandlesShareServers(),
               protocol.Protocol(), capabilities.Capabilities(), capacity.Capacity()]
    chooser = placement.Placement(filters, [free_space.Capacity(), goodness.Goodness()])
    pools = make_pools(count)
    groups = placement.Groups(pools)
    fresh = (make_pools(count) for _ in itertools.count())
    return {NAIVE: (lambda pools: [one for one in pools if all(item.check(REQUEST, one) is None for item in filters)],
                    itertools.repeat(pools)),
            FRESH: (lambda pools: chooser.place(REQUEST, pools), fresh),
            LIST: (lambda pools: chooser.place(REQUEST, pools), itertools.repeat(pools)),
            GROUPS: (lambda pools: chooser.place(REQUEST, groups), itertools.repeat(groups))}


def measure(function, inputs, rounds):
    """Return microseconds a call: the median of rounds."""
    function(next(inputs))
    times = []
    for _ in range(rounds):
        pools = next(inputs)
        begin = time.perf_counter()
        function(pools)
        times.append((time.perf_counter() - begin) * 1e6)
    return statistics.median(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--rounds', type=int, default=25)
    parser.add_argument('--check', action='store_true')
    args = parser.parse_args()
    taken = {(name, size): measure(*subject, args.rounds) for size in SIZES for name, subject in subjects(size).items()}
    for name in (NAIVE, FRESH, LIST, GROUPS):
        row = [taken[name, size] for size in SIZES]
        ratios = ' : '.join(f'{each / row[0]:.1f}' for each in row)
        print(f'{name:<27} {"  ".join(f"{each:>8.0f} us" for each in row)}   = {ratios}')
    gain = taken[NAIVE, SIZES[-1]] / taken[GROUPS, SIZES[-1]]
    print(f'At {SIZES[-1]} pools, kept groups are {gain:.1f} times as fast as asking every filter about every pool.')
    return int(args.check and gain < 10)


if __name__ == '__main__':
    sys.exit(main())
