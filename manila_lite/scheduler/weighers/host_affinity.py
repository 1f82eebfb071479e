# SPDX-License-Identifier: Apache-2.0
"""Weigher that prefers the host of the source."""

from collections.abc import Sequence

from manila_lite.scheduler.interface import PlacementRequest, PoolState, Weigher, host_names


class HostAffinity(Weigher):
    """Prefer the pool that holds the snapshot, then pools of its backend, then pools of its machine."""

    def weigh(self, request: PlacementRequest, pools: Sequence[PoolState]) -> Sequence[float]:
        """Return how many of machine, backend and pool are the same as the source's; 0 for all if there is no source."""
        if not request.source_host:
            return [0.0] * len(pools)
        source = host_names(request.source_host)
        return [
            float(sum(mine == its for mine, its in zip(pool.host_names, source, strict=False)))
            for pool in pools
        ]
