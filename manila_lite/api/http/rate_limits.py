# SPDX-License-Identifier: Apache-2.0
"""Rate limits: requests and failed logins a second of an address, and requests of a project.

Over the limit, a client is told to wait.
"""

import math
from typing import Any

from oslo_log import log

from manila_lite import errors
from manila_lite.api.http import client_address, token_buckets
from manila_lite.api.http.definition import Definition

LOG = log.getLogger(__name__)

#: The one public path with a limit: it costs more than health checks and versions, which have none.
_COSTLY = frozenset({'/openapi.json'})


class Limits:
    """The rate limits of one API.

    Rates and bursts are read at each request, so that they can be changed during an attack.
    """

    def __init__(self, conf: Any, api: Definition, peers: client_address.ClientAddresses):
        """:raises errors.BadConfig: an option is not valid."""
        own = conf.rate_limits
        self._conf = conf
        self._api = api
        self._free = api.public - _COSTLY
        self._peers = peers
        self._exempt = client_address.parse_networks('[rate_limits] address_exempt', own.address_exempt)
        self._local = token_buckets.LocalBuckets(own.most_buckets)
        self._buckets: token_buckets.LocalBuckets | token_buckets.SharedBuckets | None = self._shared(
            own.memcached_servers
        )

    def _shared(self, servers: list[str]) -> token_buckets.SharedBuckets | None:
        if not servers:
            return None
        return token_buckets.SharedBuckets(servers, self._conf.rate_limits.memcached_timeout, self._local)

    def check_address(self, environ: dict[str, Any]) -> None:
        """Refuse requests over the limit of their address. It goes before all that trusts a proxy's headers."""
        own = self._conf.rate_limits
        if own.address_rate and environ.get('PATH_INFO', '') not in self._free:
            address = self.limited_address(environ)
            if address is not None:
                self._take('address', address, token_buckets.RateLimit(own.address_rate, own.address_burst))

    def check_project(self, environ: dict[str, Any]) -> None:
        """Refuse requests over the limit of their project, or of their user without one. It goes behind the login."""
        own = self._conf.rate_limits
        # Public paths need no login, so their headers were not checked.
        if own.project_rate and environ.get('PATH_INFO', '') not in self._api.public:
            project = environ.get('HTTP_X_PROJECT_ID')
            if project not in own.project_exempt:
                kind, name = ('project', project) if project else ('user', environ.get('HTTP_X_USER_ID', ''))
                self._take(kind, name, token_buckets.RateLimit(own.project_rate, own.project_burst))

    def limited_address(self, environ: dict[str, Any]) -> str | None:
        """Return the name under which the address of a request is counted, or None for one without a limit."""
        address = self._peers.of(environ)
        return None if client_address.is_within(address, self._exempt) else self._peers.name(address)

    def check_failed_logins(self, environ: dict[str, Any]) -> None:
        """Refuse a login from an address of which too many have failed.

        :raises errors.TooManyRequests: there were too many; with the seconds until one more is checked.
        """
        address, wait = self._failed_login(environ, keep=False)
        if wait:
            seconds = math.ceil(wait)
            raise errors.TooManyRequests(
                f'Too many logins of address {address} have failed. The next one is checked in {seconds} s.',
                seconds,
                code='too_many_failed_logins',
            )

    def count_failed_login(self, environ: dict[str, Any]) -> None:
        """Count a failed login of an address."""
        self._failed_login(environ, keep=True)

    def _failed_login(self, environ: dict[str, Any], *, keep: bool) -> tuple[str | None, float]:
        own = self._conf.rate_limits
        address = self.limited_address(environ)
        if not own.failed_login_rate or address is None:
            return address, 0.0
        rate = token_buckets.RateLimit(own.failed_login_rate, own.failed_login_burst)
        return address, self._bucket('failed login', address, rate, keep=keep)

    def _take(self, kind: str, name: str, rate: token_buckets.RateLimit) -> None:
        """Take a token.

        :raises errors.TooManyRequests: there is none.
        """
        wait = self._bucket(kind, name, rate)
        if wait:
            seconds = math.ceil(wait)
            raise errors.TooManyRequests(
                f'Too many requests of {kind} {name}: {rate.a_second:g} a second are allowed, and up to '
                f'{rate.burst} at once. Send it again in {seconds} s.',
                seconds,
            )

    def _bucket(self, kind: str, name: str, rate: token_buckets.RateLimit, *, keep: bool = True) -> float:
        if self._buckets is None:
            self._buckets = self._inherited()
        return self._buckets.take(
            f'{self._api.service_type} {"/".join(self._api.prefixes)} {kind} {name}', rate, keep=keep
        )

    def _inherited(self) -> token_buckets.LocalBuckets | token_buckets.SharedBuckets:
        """Return buckets in the memcached that tokens are cached in, if there is one; else those of this process.

        Only at the first request: the middleware that checks tokens registers its options late.
        """
        servers = getattr(getattr(self._conf, 'keystone_authtoken', None), 'memcached_servers', None)
        try:
            return self._shared(servers or []) or self._local
        except errors.BadConfig as bad:
            LOG.warning(
                'Each process counts requests for itself, though [keystone_authtoken] names a memcached: %s',
                bad,
            )
            return self._local
