# SPDX-License-Identifier: Apache-2.0
"""Weigher that prefers the pool with the most free capacity."""

import math
from collections.abc import Sequence

from manila_lite import extra_specs
from manila_lite.scheduler.filters import capacity
from manila_lite.scheduler.interface import PlacementRequest, PoolState, Weigher


class Capacity(Weigher):
    """Prefer the pool with the most GiB left to promise. A negative multiplier fills pools one after the other."""

    def weigh(self, request: PlacementRequest, pools: Sequence[PoolState]) -> Sequence[float]:
        """Return the GiB left: infinity if there is no limit, and 0 if the pool does not know."""
        return [_left(request, pool) for pool in pools]


def _left(request: PlacementRequest, pool: PoolState) -> float:
    if not pool.remembered(_knows):
        return 0.0
    left = capacity.headroom(request, pool)
    return math.inf if left >= capacity.UNLIMITED else left


def _knows(pool: PoolState) -> bool:
    return extra_specs.number(pool.free_gb) is not None
