# SPDX-License-Identifier: Apache-2.0
"""Where a share can be made from a snapshot."""

import dataclasses
from collections.abc import Iterable

from manila_lite.scheduler.interface import Filter, PoolState, Request, places

#: What a pool reports whose backend makes shares from snapshots of other backends of its replication domain. None of ours can.
_REACHES = 'create_share_from_snapshots_of_domain'


class CreateFromSnapshot(Filter):
    """The pool's backend holds the snapshot, or says that it gets at those of its replication domain."""

    name = 'CreateFromSnapshotFilter'
    detail = 'FILTER_CREATE_FROM_SNAPSHOT'

    def applies(self, request: Request) -> bool:
        """Only for a share that is made from a snapshot."""
        return request.source_host is not None

    def prepare(self, request: Request, pools: Iterable[PoolState]) -> Request:
        """Return the request with the replication domain of the snapshot's backend, if it reports one."""
        home = places(request.source_host or '')[1]
        found = next((pool for pool in pools if pool.backend == home), None)
        domain = found and found.capabilities.get('replication_domain')
        return dataclasses.replace(request, source_domain=domain) if domain else request

    def check(self, request: Request, pool: PoolState) -> str | None:
        """Return where the snapshot is."""
        home = places(request.source_host or '')[1]
        domain = pool.capabilities.get('replication_domain')
        if pool.backend == home:
            return None
        if domain and domain == request.source_domain and pool.capabilities.get(_REACHES) is True:
            return None
        return (f'the snapshot is on {home} (replication domain {request.source_domain or "none"}), '
                f'the pool is on {pool.backend} (replication domain {domain or "none"})')
