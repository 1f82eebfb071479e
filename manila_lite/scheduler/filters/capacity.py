# SPDX-License-Identifier: Apache-2.0
"""Filter for free capacity, and how much of it may be promised."""

import math

from manila_lite import extra_specs
from manila_lite.scheduler.interface import Filter, PlacementRequest, PoolState

#: More GiB than any pool has. SQL cannot compare with infinity everywhere.
UNLIMITED = 1e15


class Capacity(Filter):
    """Filter that accepts pools if the request fits in the capacity that may still be promised."""

    name = 'CapacityFilter'
    detail = 'FILTER_CAPACITY'

    def check(self, request: PlacementRequest, pool: PoolState) -> str | None:
        left = headroom(request, pool)
        if request.size <= left:
            return None
        asked = f'{request.size} GiB asked for, {left:g} GiB left'
        facts = [
            f'free {_gib(pool.free_gb)} of {_gib(pool.total_gb)}',
            f'{pool.reserved_percentage:g} % reserved',
            f'{pool.claimed_gb:g} GiB promised since the last report',
        ]
        if is_thin(request, pool):
            facts += [
                f'{pool.provisioned_gb:g} GiB provisioned before',
                f'over-subscription ratio {pool.max_over_subscription_ratio:g}',
            ]
        return f'{asked}: {", ".join(facts)}'


def headroom(request: PlacementRequest, pool: PoolState) -> float:
    """Return how many GiB may still be claimed, never negative.

    ``claimed_gb + headroom`` follows from the report alone, so it holds for the pool's whole generation, however much
    other requests claim meanwhile: ``SET claimed = claimed + size WHERE claimed + size <= claimed_gb + headroom AND
    generation = ...`` never promises too much. An unknown or infinite total or free space sets no limit.
    """
    most = pool.remembered(_most_thin if pool.thin_provisioning and is_thin(request, pool) else _most)
    left = most - pool.claimed_gb
    return min(left, UNLIMITED) if left > 0.0 else 0.0


def _most(pool: PoolState) -> float:
    return _limit(pool.free_gb) - _reserved(pool)


def _most_thin(pool: PoolState) -> float:
    # The free space is a limit too, or a full pool would go on taking shares.
    by_ratio = (
        _times(_limit(pool.total_gb) - _reserved(pool), pool.max_over_subscription_ratio)
        - pool.provisioned_gb
    )
    return min(by_ratio, _times(_most(pool), pool.max_over_subscription_ratio))


def _reserved(pool: PoolState) -> float:
    total = _limit(pool.total_gb)
    return total * pool.reserved_percentage / 100 if math.isfinite(total) else 0.0


def is_thin(request: PlacementRequest, pool: PoolState) -> bool:
    """Say whether the share is thin: the pool supports thin provisioning, and the share type does not forbid it."""
    if not pool.thin_provisioning:
        return False
    asked = request.asked.get('thin_provisioning')
    return asked is None or extra_specs.matches(True, asked)


def _limit(value: float | str) -> float:
    number = extra_specs.number(value)
    return math.inf if number is None else number


def _times(space: float, ratio: float) -> float:
    return space * ratio if math.isfinite(space) else space


def _gib(value: float | str) -> str:
    return value if isinstance(value, str) else f'{value:g} GiB'
