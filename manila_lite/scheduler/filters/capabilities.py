# SPDX-License-Identifier: Apache-2.0
"""Filter for the capabilities that the share type asks for."""

from manila_lite import extra_specs
from manila_lite.scheduler.interface import Filter, PoolState, Request

#: Extra specs that do not mean "the pool reports this": they have a filter of their own, or are for the API.
NOT_CAPABILITIES = frozenset({'driver_handles_share_servers', extra_specs.ZONES, 'default_qos_type'})


class Capabilities(Filter):
    """Filter that accepts pools that report every capability that the share type asks for."""

    name = 'CapabilitiesFilter'
    detail = 'FILTER_CAPABILITIES'
    static = True

    def check(self, request: Request, pool: PoolState) -> str | None:
        """Return the first extra spec, by name, that the pool does not satisfy."""
        reasons = (extra_specs.unmet(key, asked[key], pool.reported) for asked in request.all_asked
                   for key in sorted(asked.keys() - NOT_CAPABILITIES))
        return next(filter(None, reasons), None)
