# SPDX-License-Identifier: Apache-2.0
"""Filter for backends whose service is up and not disabled."""

from manila_lite.scheduler.interface import Filter, PlacementRequest, PoolState


class Up(Filter):
    """Filter that accepts backends whose service is up; it must not be disabled either, unless it was chosen."""

    # Clients that roll back do so for this message, and not for a message of its own: manila-csi is one of them.
    name = 'UpFilter'
    detail = 'NO_VALID_HOST'

    def check(self, request: PlacementRequest, pool: PoolState) -> str | None:
        if pool.clock:
            return f'the service of the backend takes no work: {pool.clock}'
        if not pool.up:
            return 'the service of the backend is down'
        if pool.disabled and not request.even_disabled:
            return 'the service of the backend is disabled, it takes no new shares'
        return None
