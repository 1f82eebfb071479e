# SPDX-License-Identifier: Apache-2.0
"""Filter for shares that have replicas, and for their replicas."""

import dataclasses
from collections.abc import Iterable

from manila_lite.scheduler.interface import Filter, PlacementRequest, PoolState, host_names


class ShareReplication(Filter):
    """Filter that accepts backends that replicate; for a replica, those in its domain that hold no replica of the share."""

    name = 'ShareReplicationFilter'
    detail = 'FILTER_REPLICATION'

    def applies(self, request: PlacementRequest) -> bool:
        return 'replication_type' in request.asked

    def prepare(self, request: PlacementRequest, pools: Iterable[PoolState]) -> PlacementRequest:
        if request.active_host is None:
            return request
        home = host_names(request.active_host)[1]
        neighbour = next((pool for pool in pools if pool.backend == home), None)
        domain = neighbour and neighbour.capabilities.get('replication_domain')
        return dataclasses.replace(request, replication_domain=domain) if domain else request

    def check(self, request: PlacementRequest, pool: PoolState) -> str | None:
        domain = pool.capabilities.get('replication_domain')
        if not domain:
            return f'the share type asks for replication, and {pool.backend} is in no replication domain'
        if request.active_host is None:
            return None
        if domain != request.replication_domain:
            return (
                f'the active replica is in replication domain {request.replication_domain or "none"}, '
                f'the pool is in {domain}'
            )
        return (
            f'there is a replica on {pool.backend} already' if pool.backend in request.replica_hosts else None
        )
