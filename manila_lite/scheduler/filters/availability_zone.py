# SPDX-License-Identifier: Apache-2.0
"""Filter for the availability zone that the user asked for, and for the zones of the share type."""

from manila_lite import extra_specs
from manila_lite.scheduler.interface import Filter, PlacementRequest, PoolState


class AvailabilityZone(Filter):
    """Filter that accepts pools in the zone asked for, and in a zone that the share type allows, by its exact name."""

    name = 'AvailabilityZoneFilter'
    detail = 'FILTER_AVAILABILITY'
    static = True

    def check(self, request: PlacementRequest, pool: PoolState) -> str | None:
        here = pool.availability_zone
        if request.availability_zone is not None and request.availability_zone != here:
            return f'the request asks for availability zone {request.availability_zone!r}, the pool is in {here!r}'
        for specs in (request.extra_specs, *request.also):
            if not extra_specs.is_offered(specs, here):
                return f'the share type asks {extra_specs.ZONES}={specs[extra_specs.ZONES]!r}, the pool is in {here!r}'
        return None
