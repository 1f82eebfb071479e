# SPDX-License-Identifier: Apache-2.0
"""Whether the pool's service lives, and takes new shares."""

from manila_lite.scheduler.interface import Filter, PoolState, Request


class Up(Filter):
    """The backend's service lives; for a new share, no operator took it out of use."""

    # Clients that roll back do so for this message, and not for one of its own: design, clients, fact 5.
    name = 'UpFilter'
    detail = 'NO_VALID_HOST'

    def check(self, request: Request, pool: PoolState) -> str | None:
        """Return why the service does not take the request."""
        if not pool.up:
            return 'the service of the backend is down'
        if pool.disabled and request.new_share:
            return 'the service of the backend is disabled, it takes no new shares'
        return None
