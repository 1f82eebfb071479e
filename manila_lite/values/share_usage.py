# SPDX-License-Identifier: Apache-2.0
"""How full shares are, and the resolutions in which the history of that is kept."""

import calendar
import dataclasses
import datetime
from collections.abc import Sequence
from typing import Any, NamedTuple


@dataclasses.dataclass(frozen=True)
class UsageTarget:
    """A share that is to be measured: ``id`` is its id on the backend, ``snapshots`` are the ids of its snapshots.

    ``export_path``: the path of its first export location, by which a driver may find it; '' if it has none.
    """

    id: str
    export_path: str = ''
    snapshots: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class ShareUsage:
    """What a share takes, in bytes. None: the backend does not know.

    ``used_bytes`` is what ``df`` shows a client. It does not count ``snapshot_bytes``: what is only in single snapshots of the
    share, and becomes free with them. ``files`` counts files, without directories.
    """

    used_bytes: int
    limit_bytes: int | None = None
    snapshot_bytes: int | None = None
    files: int | None = None


class Series(NamedTuple):
    """A resolution of the history: a value every so many seconds. The slots are used again after the last one."""

    name: str
    seconds: int
    slots: int

    def period(self, at: datetime.datetime) -> int:
        """Return the number of the period that a moment (UTC) is in, counted from 1970 on."""
        return calendar.timegm(at.utctimetuple()) // self.seconds

    def slot(self, at: datetime.datetime) -> int:
        """Return the slot of a moment."""
        return self.period(at) % self.slots

    def begin(self, now: datetime.datetime) -> datetime.datetime:
        """Return the time since which values are kept. Slots that were not written to since have older ones."""
        return now - datetime.timedelta(seconds=self.seconds * (self.slots - 1))


#: Five minutes for a day, hours for a month, and days for two years.
SERIES = (Series('minutes', 300, 288), Series('hours', 3600, 31 * 24), Series('days', 86400, 730))


#: The span of points that a forecast needs at least, and looks back at most, in seconds.
_LEAST, _BACK = 3600.0, 7 * 86400.0
_DAY = 86400.0


def days_until_full(points: Sequence[Any], limit: int) -> float | None:
    """Return the days until a share with these points (``measured_at``, ``used_bytes``; the oldest first) holds ``limit``
    bytes, along the straight line that fits the last week best. None: it does not grow, or too little is known.
    """
    if not points:
        return None
    now = points[-1].measured_at
    known = [(-(now - point.measured_at).total_seconds(), point.used_bytes) for point in points]
    known = [(age, used) for age, used in known if age >= -_BACK]
    if -known[0][0] < _LEAST:
        return None
    middle, mean = (sum(part) / len(known) for part in zip(*known, strict=True))
    spread = sum((age - middle) ** 2 for age, _ in known)
    growth = sum((age - middle) * (used - mean) for age, used in known) / spread
    if growth <= 0:
        return None
    days: float = (limit - known[-1][1]) / growth / _DAY
    return round(max(0.0, days), 1)


class _Held(NamedTuple):
    """What a pool held: its shares, and what is only in their snapshots."""

    measured_at: datetime.datetime
    used_bytes: int


def days_until_pool_is_full(points: Sequence[Any], free: int) -> float | None:
    """Return the days until a pool with these points, in which so many bytes are free now, has none left."""
    held = [_Held(point.measured_at, point.used_bytes + point.snapshot_bytes) for point in points]
    return days_until_full(held, held[-1].used_bytes + free) if held else None
