# SPDX-License-Identifier: Apache-2.0
"""Filter for pools that were tried for the same request, and failed."""

from manila_lite.scheduler.interface import Filter, PlacementRequest, PoolState


class Excluded(Filter):
    """Filter that refuses pools that have failed for this request before."""

    # Not FILTER_RETRY: clients that roll back would leave the share behind, as manila-csi would.
    name = 'RetryFilter'
    detail = 'NO_VALID_HOST'

    def applies(self, request: PlacementRequest) -> bool:
        return bool(request.excluded)

    def check(self, request: PlacementRequest, pool: PoolState) -> str | None:
        failed = next((name for name in pool.host_names if name in request.excluded), None)
        return None if failed is None else f'it was tried before and failed: {request.excluded[failed]}'
