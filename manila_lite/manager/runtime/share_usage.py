# SPDX-License-Identifier: Apache-2.0
"""The regular measurement of how full the shares of a backend are.

One call of the driver for each pool, and few statements for many shares: nothing here is done share by share.
"""

import datetime
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from oslo_utils import timeutils, units

from manila_lite import context, values
from manila_lite.db.core.upserts import MOST
from manila_lite.db.queries import share_usage, usage_sums
from manila_lite.drivers.interface import MeasuresUsage
from manila_lite.manager.runtime.full_shares import FullShares
from manila_lite.rpc import notifications

#: Notifications are sent as often as the one series has new points; sums without shares are looked for as often as the other.
_HOURS, _DAYS = values.SERIES[1:]


class UsageCollector:
    """Measures the shares of one backend, whose driver can. Used by one thread."""

    def __init__(self, services: context.Services, host: str, driver: MeasuresUsage):
        self._services = services
        self._host = host
        self._driver = driver
        self._full = FullShares(services, host)
        #: The period of each series that was written last. After a restart the present one is written once more.
        self._written: dict[values.Series, int] = {}

    def collect(self) -> None:
        """Measure all shares, and store what they take."""
        with self._services.db.reader() as conn:
            rows = share_usage.list_targets(conn, self._host)
            snapshots = share_usage.snapshots_on(conn, self._host)
        now = timeutils.utcnow()
        found = self._measure(rows, snapshots)
        measured = [_measured(row, found[row.instance_id], now) for row in rows if row.instance_id in found]
        periods = {one: one.period(now) for one in values.SERIES}
        series = [one for one, period in periods.items() if self._written.get(one) != period]
        self._store(measured, series)
        # New shares have their first points at once, and not only in the next period: of two years, that is a day.
        first = {row.id for row in rows if row.measured_at is None}
        if new := [one for one in measured if one.share_id in first]:
            self._store(new, [one for one in values.SERIES if one not in series])
        if series or new:
            summed = values.SERIES if new else series
            self._services.db.write(lambda conn: usage_sums.store(conn, self._host, now, summed))
        if _DAYS in series:
            self._services.db.write(lambda conn: usage_sums.delete_old(conn, now))
        self._written = periods
        known = {one.share_id: one for one in measured}
        if _HOURS in series and self._services.bus.notifications.wanted:
            self._notify(known)
        self._full.react(rows, known)

    def _store(self, measured: list[share_usage.Measured], series: Collection[values.Series]) -> None:
        for start in range(0, len(measured), MOST):
            portion = measured[start : start + MOST]
            self._services.db.write(lambda conn, portion=portion: share_usage.store(conn, portion, series))

    def _notify(self, known: Mapping[str, share_usage.Measured]) -> None:
        with self._services.db.reader() as conn:
            rows = share_usage.list_described(conn, self._host)
        for row in rows:
            if row.share_id in known:
                notifications.emit(
                    self._services, 'share.usage', _payload(row, known[row.share_id]), host=self._host
                )

    def _measure(
        self, rows: list[Any], snapshots: Mapping[str, tuple[str, ...]]
    ) -> dict[str, values.ShareUsage]:
        found: dict[str, values.ShareUsage] = {}
        for pool in _by_pool(rows):
            found |= self._driver.measure_usage(
                [
                    values.UsageTarget(row.instance_id, row.export_path or '', snapshots.get(row.id, ()))
                    for row in pool
                ]
            )
        return found


def _by_pool(rows: list[Any]) -> Iterator[list[Any]]:
    pools: dict[str, list[Any]] = {}
    for row in rows:
        pools.setdefault(row.host, []).append(row)
    yield from pools.values()


def _measured(row: Any, usage: values.ShareUsage, now: Any) -> share_usage.Measured:
    limit = usage.limit_bytes or row.size * units.Gi
    return share_usage.Measured(
        row.id,
        now,
        usage.used_bytes,
        limit,
        usage.snapshot_bytes,
        usage.files,
        round(100 * usage.used_bytes / limit, 2),
    )


def _payload(row: Any, one: share_usage.Measured) -> dict[str, Any]:
    """Return the notification for billing: the share by the names of Manila, and its use; ``used_size`` is in GiB."""
    described = {
        name: value.isoformat() if isinstance(value, datetime.datetime) else value
        for name, value in row._mapping.items()
    }
    return {
        **described,
        'used_size': round(one.used_bytes / units.Gi, 3),
        'used_bytes': one.used_bytes,
        'snapshot_bytes': one.snapshot_bytes,
        'gathered_at': one.measured_at.isoformat(),
    }
