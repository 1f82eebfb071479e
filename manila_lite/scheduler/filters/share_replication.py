# SPDX-License-Identifier: Apache-2.0
"""Where shares that have replicas, and their replicas, can be."""

import dataclasses
from collections.abc import Iterable

from manila_lite.scheduler.interface import Filter, PoolState, Request, places


class ShareReplication(Filter):
    """The pool's backend replicates; for a replica: in the domain of the active one, and it has no replica of the share yet."""

    name = 'ShareReplicationFilter'
    detail = 'FILTER_REPLICATION'

    def applies(self, request: Request) -> bool:
        """Only if the share type says how to replicate."""
        return 'replication_type' in request.asked

    def prepare(self, request: Request, pools: Iterable[PoolState]) -> Request:
        """Return the request with the replication domain of the active replica's backend, if it reports one."""
        if request.active_host is None:
            return request
        home = places(request.active_host)[1]
        found = next((pool for pool in pools if pool.backend == home), None)
        domain = found and found.capabilities.get('replication_domain')
        return dataclasses.replace(request, replication_domain=domain) if domain else request

    def check(self, request: Request, pool: PoolState) -> str | None:
        """Return which domain the pool is in, or that there is a replica already."""
        domain = pool.capabilities.get('replication_domain')
        if not domain:
            return f'the share type asks for replication, and {pool.backend} is in no replication domain'
        if request.active_host is None:
            return None
        if domain != request.replication_domain:
            return (f'the active replica is in replication domain {request.replication_domain or "none"}, '
                    f'the pool is in {domain}')
        return f'there is a replica on {pool.backend} already' if pool.backend in request.replica_hosts else None
