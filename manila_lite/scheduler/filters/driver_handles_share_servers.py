# SPDX-License-Identifier: Apache-2.0
"""Whether the backend makes share servers."""

from manila_lite import extra_specs
from manila_lite.scheduler.interface import Filter, PoolState, Request

_KEY = 'driver_handles_share_servers'


class DriverHandlesShareServers(Filter):
    """The backend makes share servers, or not, as the share type wants it."""

    name = 'DriverFilter'
    detail = 'FILTER_DRIVER'
    static = True

    def check(self, request: Request, pool: PoolState) -> str | None:
        """Return what the backend does instead."""
        reasons = (extra_specs.unmet(_KEY, asked[_KEY], pool.reported) for asked in request.all_asked if _KEY in asked)
        return next(filter(None, reasons), None)
