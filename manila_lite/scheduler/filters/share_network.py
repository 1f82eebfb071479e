# SPDX-License-Identifier: Apache-2.0
"""Share networks: a server can only be where its network has subnets, and be in several only where the backend can."""

from manila_lite.scheduler.interface import Filter, PoolState, Request

_SEVERAL = 'share_server_multiple_subnet_support'


class ShareNetwork(Filter):
    """The share network has a subnet in the pool's zone; if it has more, the backend makes servers that are in all."""

    name = 'ShareNetworkFilter'
    detail = 'FILTER_AVAILABILITY'

    def check(self, request: Request, pool: PoolState) -> str | None:
        """Return what the network lacks, or the backend."""
        if request.subnets is None:
            return None
        count = request.subnets.get(pool.availability_zone_id) or request.subnets.get(None, 0)
        if not count:
            return f'the share network has no subnet in zone {pool.availability_zone!r}'
        if count > 1 and not pool.capabilities.get(_SEVERAL):
            return (f'the share network has {count} subnets in zone {pool.availability_zone!r}, and the pool has no '
                    f'{_SEVERAL}')
        return None
