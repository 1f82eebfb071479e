# SPDX-License-Identifier: Apache-2.0
"""Token buckets, in the memory of this process or in memcached.

Of a bucket only the moment is kept at which it is full again: each token that is taken moves it on by the time of one.
Nothing has to be done to fill it, and one number can be exchanged in one step (the "generic cell rate algorithm").
"""

import dataclasses
import hashlib
import importlib
import math
import threading
import time
from collections.abc import Sequence
from typing import Any

import cachetools
from oslo_log import log

from manila_lite import errors

LOG = log.getLogger(__name__)

#: Seconds after which a memcached that was away is asked again, and tries to change what others change, too.
_AGAIN, _TRIES = 10.0, 16
#: Seconds by which clocks of hosts may differ before one does not believe another.
_SKEW = 10.0
#: Seconds that are none: to add up numbers of seconds since 1970 is that exact.
_NOTHING = 1e-5
#: memcached takes larger numbers of seconds for a date.
_LONGEST = 30 * 24 * 3600


@dataclasses.dataclass(frozen=True)
class Rate:
    """Tokens that come in ``a_second``, and how many there are at most."""

    a_second: float
    burst: int

    def take(self, full: float, now: float) -> tuple[float, float]:
        """Return when the bucket is full after a token was taken, and 0; or the seconds until there is one.

        ``full``: when it would be full otherwise.
        """
        most = self.burst / self.a_second
        # Much later than it can be, it is from another rate, or of a clock that goes wrong.
        missing = full - now if now < full <= now + most + _SKEW else 0.0
        missing += 1 / self.a_second
        wait = missing - most
        return now + missing, wait if wait > _NOTHING else 0.0


class Local:
    """Buckets of this process, ``most`` of them: those that were used longest ago are forgotten."""

    def __init__(self, most: int):
        self._full: cachetools.LRUCache = cachetools.LRUCache(most)
        self._lock = threading.Lock()

    def take(self, key: str, rate: Rate) -> float:
        """A token was taken: 0; or there was none: seconds until there is one."""
        now = time.monotonic()
        with self._lock:
            after, wait = rate.take(self._full.get(key, now), now)
            if not wait:
                self._full[key] = after
        return wait


class Shared:
    """Buckets in memcached, for all processes that use it; while it is away, those of this process."""

    def __init__(self, servers: Sequence[str], timeout: float, local: Local):
        """:raises errors.BadConfig: pymemcache is not there, or a server is none."""
        self._local = local
        self._servers = [_Server(server, timeout) for server in servers]

    def take(self, key: str, rate: Rate) -> float:
        """As ``Local``."""
        digest = hashlib.sha256(key.encode('utf-8', 'surrogateescape'))
        server = self._servers[digest.digest()[0] % len(self._servers)]
        wait = server.take(f'manila-rate-{digest.hexdigest()}', rate)
        return self._local.take(key, rate) if wait is None else wait


class _Server:
    """One memcached. Which one a bucket is in never changes, so that nobody gets more by bringing one down."""

    def __init__(self, address: str, timeout: float):
        try:
            base = importlib.import_module('pymemcache.client.base')
            self._client: Any = base.PooledClient(base.normalize_server_spec(address), connect_timeout=timeout,
                                                  timeout=timeout, max_pool_size=256)
        except ImportError:
            raise errors.BadConfig('[rate_limits] memcached_servers: pymemcache is not installed; pip install '
                                   '"manila-lite[memcached]"') from None
        except ValueError as bad:
            raise errors.BadConfig(f'[rate_limits] memcached_servers: {address!r} is no host:port ({bad})') from None
        self._address = address
        self._lock = threading.Lock()
        self._away = False
        self._asked_again = 0.0

    def take(self, key: str, rate: Rate) -> float | None:
        """A token was taken: 0; there was none: seconds until there is one; or nobody knows."""
        if self._is_away():
            return None
        try:
            wait = self._exchange(key, rate)
        except Exception as bad:
            self._client.close()        # others of the pool may be as dead; each would look like another outage
            self._is(bad)
            return None
        self._is(None)
        return wait

    def _exchange(self, key: str, rate: Rate) -> float | None:
        for _ in range(_TRIES):
            text, version = self._client.gets(key)
            now = time.time()
            after, wait = rate.take(_moment(text), now)
            if wait:
                return wait
            lasts = min(math.ceil(after - now) + 1, _LONGEST)
            if version is None:
                done = self._client.add(key, repr(after), expire=lasts, noreply=False)
            else:
                done = self._client.cas(key, repr(after), version, expire=lasts, noreply=False)
            if done:
                return 0.0
        return None

    def _is_away(self) -> bool:
        """Say whether it need not be asked. One thread asks again, now and then."""
        if not self._away:
            return False
        with self._lock:
            now = time.monotonic()
            if now < self._asked_again:
                return True
            self._asked_again = now + _AGAIN
            return False

    def _is(self, why: Exception | None) -> None:
        """It is away (``why``), or answers; said once."""
        away = why is not None
        if away == self._away:
            return
        with self._lock:
            if away == self._away:
                return
            self._away, self._asked_again = away, time.monotonic() + _AGAIN
        if away:
            LOG.warning('memcached %s cannot be used for rate limits, and each process counts for itself: %s: %s',
                        self._address, type(why).__name__, why)
        else:
            LOG.info('memcached %s can be used for rate limits again', self._address)


def _moment(text: bytes | None) -> float:
    """Return what is kept of a bucket; anything else counts as nothing."""
    try:
        return float(text or 0)
    except ValueError:
        return 0.0
