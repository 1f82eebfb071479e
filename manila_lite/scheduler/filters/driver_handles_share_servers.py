# SPDX-License-Identifier: Apache-2.0
"""Filter for backends that make share servers, or make none."""

from manila_lite import extra_specs
from manila_lite.scheduler.interface import Filter, PlacementRequest, PoolState

_KEY = 'driver_handles_share_servers'


class DriverHandlesShareServers(Filter):
    """Filter that accepts backends that make share servers, or make none, as the share type asks."""

    name = 'DriverFilter'
    detail = 'FILTER_DRIVER'
    static = True

    def check(self, request: PlacementRequest, pool: PoolState) -> str | None:
        reasons = (
            extra_specs.unmet(_KEY, asked[_KEY], pool.reported)
            for asked in request.all_asked
            if _KEY in asked
        )
        return next(filter(None, reasons), None)
