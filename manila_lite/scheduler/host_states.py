# SPDX-License-Identifier: Apache-2.0
"""Reports of backends, as filters see them, cached from one request to the next.

The table is the truth: a scheduler that just started knows everything. The cache may be a second old. It never promises
capacity twice, since a claim is decided in the table. A request that finds no pool reads the table again
(``not_before``) before it fails.
"""

import dataclasses
import itertools
import math
import operator
from collections.abc import Collection
from typing import Any, NamedTuple

from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import pool_reports, services
from manila_lite.engine.environment import REAL, Environment
from manila_lite.scheduler.interface import PoolState
from manila_lite.scheduler.placement import Groups

#: Seconds until the versions are read again; sooner if reading is cheap: reading may take a fiftieth of the time.
_OLDEST = 1.0
_LOOKS = 50
#: Above this number of changed pools, all are read.
_MANY = 500


class Hosts:
    """All pools that backends reported. Safe for many threads."""

    def __init__(self, down_time: float, environment: Environment = REAL, clocks: float = math.inf):
        """Create it without pools: they are read when they are first asked for.

        :param down_time: seconds without a heartbeat after which a service counts as down.
        :param clocks: seconds by which the clock of a service's host may differ from the database's.
        """
        self._down_time, self._clocks = down_time, clocks
        self._environment = environment
        self._lock = environment.lock()
        self._groups = Groups(())
        self._versions: dict[str, tuple[Any, ...]] = {}
        self._alive: dict[str, _Service] = {}
        self._read_at = self._good_until = -math.inf

    def now(self) -> float:
        """Return the time on the clock that ``pools`` uses."""
        return self._environment.monotonic()

    def pools(self, conn: Connection, not_before: float = -math.inf) -> Groups:
        """Return all pools as they were at most a second ago, and not before ``not_before``, a time as of ``now``."""
        with self._lock:
            now = self.now()
            if now >= self._good_until or self._read_at < not_before:
                began = self._environment.thread_time()
                self._refresh(conn)
                self._read_at = now
                self._good_until = now + min(_OLDEST, _LOOKS * (self._environment.thread_time() - began))
            return self._groups

    def claimed(self, pool: PoolState, size: float) -> None:
        """Count ``size`` GiB more as promised, and read the pool again soon: this scheduler's transaction may fail."""
        with self._lock:
            self._groups.replace(pool.promised(claimed_gb=pool.claimed_gb + size))
            self._versions.pop(pool.host, None)

    def _refresh(self, conn: Connection) -> None:
        """Read the versions of all pools. Update pools with another version, or another state of their service, than before;
        read those that reported anew in full.
        """
        alive = {
            row.host: _service(row, self._down_time, self._clocks) for row in services.list_backends(conn)
        }
        moved = {host for host, service in alive.items() if self._alive.get(host) != service}
        versions = {
            version[0]: version for version in pool_reports.list_pool_versions(conn) if version[1] in alive
        }
        changed = self._changed(versions, moved)
        if changed or len(versions) != self._groups.count:
            self._update(conn, versions, changed, alive)
        self._alive, self._versions = alive, versions

    def _changed(self, versions: dict[str, tuple[Any, ...]], moved: set[str]) -> list[tuple[Any, ...]]:
        """Return versions that differ from those seen before, and those of backends that ``moved``."""
        if moved:
            return [
                version
                for host, version in versions.items()
                if self._versions.get(host) != version or version[1] in moved
            ]
        # The same without a step of Python for each of ten thousand pools.
        return list(
            itertools.compress(
                versions.values(), map(operator.ne, versions.values(), map(self._versions.get, versions))
            )
        )

    def _update(
        self,
        conn: Connection,
        versions: dict[str, tuple[Any, ...]],
        changed: list[tuple[Any, ...]],
        alive: dict[str, '_Service'],
    ) -> None:
        """Bring pools up to date with their versions and services. Read pools that are new, or reported anew."""
        fresh: dict[str, PoolState] = {}
        unread = []
        for host, backend, generation, claimed, allocated, provisioned in changed:
            old = self._groups.get(host)
            if old is None or old.generation != generation:
                unread.append(host)
            else:
                fresh[host] = dataclasses.replace(
                    old,
                    claimed_gb=claimed,
                    allocated_gb=allocated,
                    provisioned_gb=provisioned,
                    **alive[backend]._asdict(),
                )
        for row in pool_reports.list_pools(conn, unread if len(unread) <= _MANY else None) if unread else ():
            if row.host in versions:
                fresh[row.host] = _state(row, alive[row.backend_host])
        if len(versions) == self._groups.count and all(self._groups.fits(pool) for pool in fresh.values()):
            for pool in fresh.values():
                self._groups.replace(pool)
        else:
            known = {pool.host: pool for pool in self._groups if pool.host in versions}
            self._groups = Groups((known | fresh).values())


class _Service(NamedTuple):
    """The fields that a pool takes over from its service, by the names of the pool."""

    up: bool
    disabled: bool
    availability_zone: str | None
    availability_zone_id: str | None
    clock: str | None


def _service(row: Any, down_time: float, clocks: float = math.inf) -> _Service:
    return _Service(
        services.is_up(row, down_time),
        row.disabled,
        row.zone,
        row.zone_id,
        services.clock_fault(row, down_time, clocks),
    )


def one(conn: Connection, host: str, down_time: float) -> PoolState | None:
    """Return the pool with this host string as it is now, if there is one."""
    return now(conn, [host], down_time).get(host)


def now(conn: Connection, hosts: Collection[str], down_time: float) -> dict[str, PoolState]:
    """Return the pools with these host strings as they are now, by host string."""
    return {
        row.host: _state(row, _service(row, down_time))
        for row in pool_reports.list_pools(conn, sorted(hosts))
    }


def _state(row: Any, service: _Service) -> PoolState:
    return PoolState(
        host=row.host,
        capabilities=row.capabilities,
        total_gb=row.total_gb,
        free_gb=row.free_gb,
        reserved_percentage=row.reserved_percentage,
        allocated_gb=row.allocated_gb,
        claimed_gb=row.claimed_gb,
        thin_provisioning=row.thin_provisioning,
        max_over_subscription_ratio=row.max_over_subscription_ratio,
        provisioned_gb=row.provisioned_gb,
        generation=row.generation,
        reported_at=row.reported_at,
        **service._asdict(),
    )
