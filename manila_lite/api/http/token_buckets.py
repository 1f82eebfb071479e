# SPDX-License-Identifier: Apache-2.0
"""Token buckets, in the memory of this process or in memcached.

Only one moment is kept of a bucket: when it will be full again. Each token that is taken moves that moment on by the
time in which one token comes. So the bucket needs no refilling, and one number can be exchanged in one step (the
"generic cell rate algorithm").
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

#: Seconds after which a memcached that was away is asked again, and attempts to change a value that others change, too.
_AGAIN, _TRIES = 10.0, 16
#: Seconds by which clocks of hosts may differ before a host ignores the value of another.
_SKEW = 10.0
#: Seconds that count as zero: the rounding error of sums of seconds since 1970.
_NOTHING = 1e-5
#: memcached reads larger numbers of seconds as a date.
_LONGEST = 30 * 24 * 3600


@dataclasses.dataclass(frozen=True)
class RateLimit:
    """A rate: ``a_second`` tokens come each second, up to ``burst``."""

    a_second: float
    burst: int

    def take(self, full: float, now: float) -> tuple[float, float]:
        """Return the moment when the bucket is full after one more token, and 0; or the seconds until there is a token.

        ``full``: the moment when it is full before that.
        """
        most = self.burst / self.a_second
        # A value much later than possible is from another rate, or from a wrong clock.
        missing = full - now if now < full <= now + most + _SKEW else 0.0
        missing += 1 / self.a_second
        wait = missing - most
        return now + missing, wait if wait > _NOTHING else 0.0


class LocalBuckets:
    """Buckets of this process, ``most`` of them: those not used for longest are dropped."""

    def __init__(self, most: int):
        self._full: cachetools.LRUCache[str, float] = cachetools.LRUCache(most)
        self._lock = threading.Lock()

    def take(self, key: str, rate: RateLimit, *, keep: bool = True) -> float:
        """Take a token. Return 0, or the seconds until there is one. Without ``keep`` only look whether there is one."""
        now = time.monotonic()
        with self._lock:
            after, wait = rate.take(self._full.get(key, now), now)
            if keep and not wait:
                self._full[key] = after
        return wait


class SharedBuckets:
    """Buckets in memcached, for all processes that use it. While it is away, the buckets of this process are used."""

    def __init__(self, servers: Sequence[str], timeout: float, local: LocalBuckets):
        """:raises errors.BadConfig: pymemcache is not installed, or a server is no host:port."""
        self._local = local
        self._servers = [_Server(server, timeout) for server in servers]

    def take(self, key: str, rate: RateLimit, *, keep: bool = True) -> float:
        """Take a token, as ``LocalBuckets`` does."""
        digest = hashlib.sha256(key.encode('utf-8', 'surrogateescape'))
        server = self._servers[digest.digest()[0] % len(self._servers)]
        wait = server.take(f'manila-rate-{digest.hexdigest()}', rate, keep)
        return self._local.take(key, rate, keep=keep) if wait is None else wait


class _Server:
    """One memcached. A bucket never moves to another one, so that taking a server down gains no tokens."""

    def __init__(self, address: str, timeout: float):
        try:
            base = importlib.import_module('pymemcache.client.base')
            self._client: Any = base.PooledClient(
                base.normalize_server_spec(address),
                connect_timeout=timeout,
                timeout=timeout,
                max_pool_size=256,
            )
        except ImportError:
            raise errors.BadConfig(
                '[rate_limits] memcached_servers: pymemcache is not installed; pip install '
                '"manila-lite[memcached]"'
            ) from None
        except ValueError as bad:
            raise errors.BadConfig(
                f'[rate_limits] memcached_servers: {address!r} is not of the form host:port ({bad})'
            ) from None
        self._address = address
        self._lock = threading.Lock()
        self._away = False
        self._asked_again = 0.0

    def take(self, key: str, rate: RateLimit, keep: bool) -> float | None:
        """Take a token. Return 0, the seconds until there is one, or None if memcached cannot tell."""
        if self._is_away():
            return None
        try:
            wait = self._exchange(key, rate, keep)
        except Exception as bad:
            self._client.close()  # other connections of the pool may be dead, too; each would look like another outage
            self._is(bad)
            return None
        self._is(None)
        return wait

    def _exchange(self, key: str, rate: RateLimit, keep: bool) -> float | None:
        for _ in range(_TRIES):
            text, version = self._client.gets(key)
            now = time.time()
            after, wait = rate.take(_moment(text), now)
            if wait or not keep:
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
        """Say whether the server counts as away. Now and then one thread asks it again."""
        if not self._away:
            return False
        with self._lock:
            now = time.monotonic()
            if now < self._asked_again:
                return True
            self._asked_again = now + _AGAIN
            return False

    def _is(self, why: Exception | None) -> None:
        """Record that the server is away (``why``), or answers. A change is logged once."""
        away = why is not None
        if away == self._away:
            return
        with self._lock:
            if away == self._away:
                return
            self._away, self._asked_again = away, time.monotonic() + _AGAIN
        if away:
            LOG.warning(
                'memcached %s cannot be used for rate limits, and each process counts for itself: %s: %s',
                self._address,
                type(why).__name__,
                why,
            )
        else:
            LOG.info('memcached %s can be used for rate limits again', self._address)


def _moment(text: bytes | None) -> float:
    """Return the stored moment of a bucket; 0 if the value is not valid."""
    try:
        return float(text or 0)
    except ValueError:
        return 0.0
