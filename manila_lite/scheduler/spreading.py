# SPDX-License-Identifier: Apache-2.0
"""Spreading of shares over several pools: the largest first, each in a pool that passes all filters. No I/O."""

import dataclasses
import math
from collections.abc import Iterable, Mapping

from manila_lite import errors
from manila_lite.scheduler.filters.capacity import headroom
from manila_lite.scheduler.interface import PlacementRequest, PoolState
from manila_lite.scheduler.placement import Placement, Result, why_none


@dataclasses.dataclass(frozen=True)
class Claim:
    """Capacity to be claimed: ``size`` GiB of the pool, if no more than ``most`` GiB are claimed then."""

    pool: PoolState
    size: float
    most: float


@dataclasses.dataclass
class _Filling:
    """A pool with the shares that were given to it. ``now``: its state with these. ``most``: the limit for all of these."""

    pool: PoolState
    now: PoolState
    most: float = math.inf

    def limit(self, request: PlacementRequest) -> float:
        """Return how many GiB may be claimed if the request is added. Thin shares alone have a higher limit."""
        return min(self.most, self.pool.claimed_gb + headroom(request, self.pool))

    def takes(self, request: PlacementRequest) -> bool:
        return self.now.claimed_gb + request.size <= self.limit(request)

    def add(self, request: PlacementRequest) -> None:
        self.most = self.limit(request)
        self.now = self.now.promised(claimed_gb=self.now.claimed_gb + request.size)


def spread(
    placement: Placement, shares: Iterable[tuple[str, PlacementRequest]], pools: Iterable[PoolState]
) -> tuple[dict[str, PoolState], tuple[Claim, ...]]:
    """Return the pool of each share, the largest share first, and all claims, in the order of their pools.

    ``shares`` are pairs of an id and the request for that share alone. A pool that has shares already is preferred, so
    that there are few. This is greedy: shares may be refused that another distribution had room for.

    :raises errors.NoValidHost: no pool suits one of the shares beside those before it; the message names the filter.
    """
    fillings = {pool.host: _Filling(pool, pool) for pool in pools}
    used: dict[str, _Filling] = {}
    chosen: dict[str, PoolState] = {}
    for share_id, request in sorted(shares, key=lambda share: -share[1].size):
        filling = _choose(placement, request, used, fillings)
        filling.add(request)
        chosen[share_id] = filling.pool
        used[filling.pool.host] = filling
    return chosen, tuple(
        Claim(one.pool, one.now.claimed_gb - one.pool.claimed_gb, one.most) for _, one in sorted(used.items())
    )


def _choose(placement: Placement, request: PlacementRequest, *choices: Mapping[str, _Filling]) -> _Filling:
    """Return a pool for the request from the first of the ``choices`` that has one."""
    for fillings in choices:
        result = placement.place(request, [filling.now for filling in fillings.values()])
        for pool in result.candidates:
            if fillings[pool.host].takes(request):
                return fillings[pool.host]
    message, detail = _why(result)
    raise errors.NoValidHost(
        f'There is no pool for a share of {request.size} GiB beside the others. {message}', detail=detail
    )


def _why(result: Result) -> tuple[str, str]:
    if result.candidates:
        return 'Thin and thick shares together need more than a pool may promise.', 'FILTER_CAPACITY'
    return why_none(result)
