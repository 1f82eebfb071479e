# SPDX-License-Identifier: Apache-2.0
"""Filter for backends that can make a share from a given snapshot."""

import dataclasses
from collections.abc import Iterable

from manila_lite.scheduler.interface import Filter, PlacementRequest, PoolState, places

#: Capability of pools whose backend makes shares from snapshots of other backends of its replication domain. No driver
#: here has it.
_REACHES = 'create_share_from_snapshots_of_domain'


class CreateFromSnapshot(Filter):
    """Filter that accepts backends with the snapshot, or with access to the snapshots of their replication domain."""

    name = 'CreateFromSnapshotFilter'
    detail = 'FILTER_CREATE_FROM_SNAPSHOT'

    def applies(self, request: PlacementRequest) -> bool:
        """Apply only to a share that is made from a snapshot."""
        return request.source_host is not None

    def prepare(self, request: PlacementRequest, pools: Iterable[PoolState]) -> PlacementRequest:
        """Return the request with the replication domain of the snapshot's backend, if it reports one."""
        home = places(request.source_host or '')[1]
        neighbour = next((pool for pool in pools if pool.backend == home), None)
        domain = neighbour and neighbour.capabilities.get('replication_domain')
        return dataclasses.replace(request, source_domain=domain) if domain else request

    def check(self, request: PlacementRequest, pool: PoolState) -> str | None:
        """Return the backend of the snapshot, if the pool is elsewhere."""
        home = places(request.source_host or '')[1]
        domain = pool.capabilities.get('replication_domain')
        if pool.backend == home:
            return None
        if domain and domain == request.source_domain and pool.capabilities.get(_REACHES) is True:
            return None
        return (
            f'the snapshot is on {home} (replication domain {request.source_domain or "none"}), '
            f'the pool is on {pool.backend} (replication domain {domain or "none"})'
        )
