# SPDX-License-Identifier: Apache-2.0
"""Filter for the backend that can make a share from a given snapshot."""

from manila_lite.scheduler.interface import Filter, PlacementRequest, PoolState, host_names


class CreateFromSnapshot(Filter):
    """Filter that accepts the backend with the snapshot."""

    name = 'CreateFromSnapshotFilter'
    detail = 'FILTER_CREATE_FROM_SNAPSHOT'

    def applies(self, request: PlacementRequest) -> bool:
        return request.source_host is not None

    def check(self, request: PlacementRequest, pool: PoolState) -> str | None:
        home = host_names(request.source_host or '')[1]
        return None if pool.backend == home else f'the snapshot is on {home}, the pool is on {pool.backend}'
