# SPDX-License-Identifier: Apache-2.0
"""Near to some shares, far from others: the hints same_host and different_host."""

from manila_lite.scheduler.interface import Filter, PoolState, Request


class Affinity(Filter):
    """The pool holds one of the shares that this one must be with."""

    name = 'AffinityFilter'
    detail = 'FILTER_AFFINITY'

    def applies(self, request: Request) -> bool:
        """Only with the hint same_host."""
        return bool(request.same_hosts)

    def check(self, request: Request, pool: PoolState) -> str | None:
        """Return None on a host of those shares."""
        if request.same_hosts.isdisjoint(pool.places):
            return 'the hint same_host asks for a pool of the shares that it names'
        return None


class AntiAffinity(Filter):
    """The pool holds none of the shares that this one must be away from."""

    name = 'AntiAffinityFilter'
    detail = 'FILTER_AFFINITY'

    def applies(self, request: Request) -> bool:
        """Only with the hint different_host."""
        return bool(request.different_hosts)

    def check(self, request: Request, pool: PoolState) -> str | None:
        """Return which share's host this is."""
        shared = request.different_hosts.intersection(pool.places)
        return 'the hint different_host keeps the share away from the pools of the shares that it names' if shared else None
