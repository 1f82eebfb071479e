# SPDX-License-Identifier: Apache-2.0
"""Weigher that prefers the pool with the highest goodness that it reports."""

from collections.abc import Sequence

from manila_lite import extra_specs
from manila_lite.scheduler.interface import PlacementRequest, PoolState, Weigher

_KEYS = ('goodness_function', 'goodness')


class Goodness(Weigher):
    """Prefer the pool with the highest goodness, from 0 to 100. A pool that reports none, or no number, has 0."""

    def weigh(self, request: PlacementRequest, pools: Sequence[PoolState]) -> Sequence[float]:
        return [pool.remembered(_goodness) for pool in pools]


def _goodness(pool: PoolState) -> float:
    values = (extra_specs.number(pool.capabilities.get(key)) for key in _KEYS)
    return min(max(next((value for value in values if value is not None), 0.0), 0.0), 100.0)
