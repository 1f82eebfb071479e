# SPDX-License-Identifier: Apache-2.0
"""The host that an administrator chose."""

from manila_lite.scheduler.interface import Filter, PoolState, Request


class OnlyHost(Filter):
    """The pool is, or is part of, the one place where the share must go."""

    name = 'OnlyHostFilter'
    detail = 'FILTER_AFFINITY'

    def applies(self, request: Request) -> bool:
        """Only if a host was chosen."""
        return request.only_host is not None

    def check(self, request: Request, pool: PoolState) -> str | None:
        """Return None on that machine, backend or pool."""
        return None if request.only_host in pool.places else f'the request is for {request.only_host} only'
