# SPDX-License-Identifier: Apache-2.0
"""Whether there is room, and how much of it may be promised."""

import math

from manila_lite import extra_specs
from manila_lite.scheduler.interface import Filter, PoolState, Request

#: More GiB than there are. SQL cannot compare with infinity everywhere.
UNLIMITED = 1e15


class Capacity(Filter):
    """The request fits in what may still be promised of the pool."""

    name = 'CapacityFilter'
    detail = 'FILTER_CAPACITY'

    def check(self, request: Request, pool: PoolState) -> str | None:
        """Return how much is asked for and how much there is."""
        left = headroom(request, pool)
        if request.size <= left:
            return None
        asked = f'{request.size} GiB asked for, {left:g} GiB left'
        facts = [f'free {_gib(pool.free_gb)} of {_gib(pool.total_gb)}', f'{pool.reserved_percentage:g} % reserved',
                 f'{pool.claimed_gb:g} GiB promised since the last report']
        if is_thin(request, pool):
            facts += [f'{pool.provisioned_gb:g} GiB provisioned before',
                      f'over-subscription ratio {pool.max_over_subscription_ratio:g}']
        return f'{asked}: {", ".join(facts)}'


def headroom(request: Request, pool: PoolState) -> float:
    """Return how many GiB more may be claimed; never negative.

    ``claimed_gb + headroom`` follows from the report alone, so it holds for the pool's whole generation, however
    much others claim meanwhile: ``SET claimed = claimed + size WHERE claimed + size <= claimed_gb + headroom AND
    generation = ...`` never promises too much. A total or free space that is unknown or infinite limits nothing.
    """
    most = pool.remembered(_most_thin if pool.thin_provisioning and is_thin(request, pool) else _most)
    left = most - pool.claimed_gb
    return min(left, UNLIMITED) if left > 0.0 else 0.0


def _most(pool: PoolState) -> float:
    return _limit(pool.free_gb) - _reserved(pool)


def _most_thin(pool: PoolState) -> float:
    # What is free limits it too, or a full pool would go on taking shares.
    by_ratio = _times(_limit(pool.total_gb) - _reserved(pool), pool.max_over_subscription_ratio) - pool.provisioned_gb
    return min(by_ratio, _times(_most(pool), pool.max_over_subscription_ratio))


def _reserved(pool: PoolState) -> float:
    total = _limit(pool.total_gb)
    return total * pool.reserved_percentage / 100 if math.isfinite(total) else 0.0


def is_thin(request: Request, pool: PoolState) -> bool:
    """Say whether the share will take up space only as it fills: the pool can, and the type does not forbid it."""
    if not pool.thin_provisioning:
        return False
    asked = request.asked.get('thin_provisioning')
    return asked is None or extra_specs.matches(True, asked)


def _limit(value: float | str) -> float:
    found = extra_specs.number(value)
    return math.inf if found is None else found


def _times(space: float, ratio: float) -> float:
    return space * ratio if math.isfinite(space) else space


def _gib(value: float | str) -> str:
    return value if isinstance(value, str) else f'{value:g} GiB'
