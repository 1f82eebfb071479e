# SPDX-License-Identifier: Apache-2.0
"""Filter for a host that an administrator chose."""

from manila_lite.scheduler.interface import Filter, PlacementRequest, PoolState


class OnlyHost(Filter):
    """Filter that accepts the chosen host, or pools of it."""

    name = 'OnlyHostFilter'
    detail = 'FILTER_AFFINITY'

    def applies(self, request: PlacementRequest) -> bool:
        return request.only_host is not None

    def check(self, request: PlacementRequest, pool: PoolState) -> str | None:
        return (
            None if request.only_host in pool.host_names else f'the request is for {request.only_host} only'
        )
