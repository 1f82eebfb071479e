# SPDX-License-Identifier: Apache-2.0
"""Filters for the hints same_host and different_host: on the pools of some shares, or away from them."""

from manila_lite.scheduler.interface import Filter, PlacementRequest, PoolState


class Affinity(Filter):
    """Filter that accepts pools with one of the shares that the new share must be with."""

    name = 'AffinityFilter'
    detail = 'FILTER_AFFINITY'

    def applies(self, request: PlacementRequest) -> bool:
        return bool(request.same_hosts)

    def check(self, request: PlacementRequest, pool: PoolState) -> str | None:
        if request.same_hosts.isdisjoint(pool.host_names):
            return 'the hint same_host asks for a pool of the shares that it names'
        return None


class AntiAffinity(Filter):
    """Filter that accepts pools with none of the shares that the new share must be away from."""

    name = 'AntiAffinityFilter'
    detail = 'FILTER_AFFINITY'

    def applies(self, request: PlacementRequest) -> bool:
        return bool(request.different_hosts)

    def check(self, request: PlacementRequest, pool: PoolState) -> str | None:
        shared = request.different_hosts.intersection(pool.host_names)
        return (
            'the hint different_host keeps the share away from the pools of the shares that it names'
            if shared
            else None
        )
