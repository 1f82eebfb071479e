# SPDX-License-Identifier: Apache-2.0
"""Filter for share networks: they need a subnet in the pool's zone, and for several a backend that supports several."""

from manila_lite import errors
from manila_lite.scheduler.interface import Filter, PlacementRequest, PoolState

_SEVERAL = 'share_server_multiple_subnet_support'


class ShareNetwork(Filter):
    """Filter that accepts pools whose zone has a subnet of the share network; for several, the backend must support them."""

    name = 'ShareNetworkFilter'
    detail = 'FILTER_AVAILABILITY'

    def check(self, request: PlacementRequest, pool: PoolState) -> str | None:
        if request.subnets is None:
            return None
        count = request.subnets.get(
            pool.availability_zone_id, request.subnets.get(None, 0)
        )  # its own may be of no use
        if not count:
            return f'the share network has no subnet in zone {pool.availability_zone!r}'
        if count > 1 and not pool.capabilities.get(_SEVERAL):
            return (
                f'the share network has {errors.count(count, "subnet")} in zone {pool.availability_zone!r}, and '
                'the pool has no '
                f'{_SEVERAL}'
            )
        return None
