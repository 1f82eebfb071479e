# SPDX-License-Identifier: Apache-2.0
"""Filter for the capabilities that the share type asks for."""

from manila_lite import extra_specs
from manila_lite.scheduler.interface import Filter, PlacementRequest, PoolState

#: The extra spec that has a filter of its own.
_SERVERS = 'driver_handles_share_servers'


class Capabilities(Filter):
    """Filter that accepts pools that report every capability that the share type asks for."""

    name = 'CapabilitiesFilter'
    detail = 'FILTER_CAPABILITIES'
    static = True

    def check(self, request: PlacementRequest, pool: PoolState) -> str | None:
        reasons = (
            reason
            for asked in request.all_asked
            for reason in extra_specs.unmet_capabilities(
                {key: text for key, text in asked.items() if key != _SERVERS}, pool.reported
            )
        )
        return next(reasons, None)
