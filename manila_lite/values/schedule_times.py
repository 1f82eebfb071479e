# SPDX-License-Identifier: Apache-2.0
"""The times of a schedule: a cron expression in a time zone. Times are naive UTC, as in the database.

cronsim finds the times, and does as cron of Debian when clocks change: a job at a fixed time that is skipped runs right after
the change, and one whose time comes twice runs once. Jobs of each hour, or more often, run by the time that passes. Where
clocks go back by half an hour (Lord Howe Island), a job such as ``*/15 2 * * *`` lacks two times on that day.
"""

import datetime
import functools
import hashlib
import zoneinfo

from cronsim import CronSim, CronSimError

_FIELDS = 5
_UTC = datetime.UTC
#: No times before are looked for.
_FIRST_YEAR = 1970


def check_cron(text: str) -> str:
    """Return the expression with single blanks.

    :raises ValueError: it is none, or no time ever fits it.
    """
    parts = text.split()
    if len(parts) != _FIELDS:
        raise ValueError(
            'must have five fields, as of cron: minute, hour, day of month, month and day of week; it has '
            f'{len(parts)}'
        )
    cron = ' '.join(parts)
    try:
        found = following(cron, 'UTC', datetime.datetime(2024, 1, 1))  # noqa: DTZ001 - naive UTC
    except CronSimError as bad:
        raise ValueError(f'has a wrong {str(bad).removeprefix("Bad ").replace("-", " ")}') from None
    if found is None:
        raise ValueError('fits no time in fifty years')
    return cron


@functools.cache
def _zones() -> frozenset[str]:
    return frozenset(zoneinfo.available_timezones())


def check_zone(name: str) -> str:
    """Return the name of a time zone.

    :raises ValueError: there is no such time zone.
    """
    if name not in _zones():
        raise ValueError('must be the name of a time zone, such as UTC or Europe/Berlin')
    return name


def in_zone(at: datetime.datetime, zone: str) -> datetime.datetime:
    """Return a time as the clocks of the zone show it."""
    return at.replace(tzinfo=_UTC).astimezone(zoneinfo.ZoneInfo(zone))


def _naive(at: datetime.datetime) -> datetime.datetime:
    return at.astimezone(_UTC).replace(tzinfo=None)


def following(cron: str, zone: str, after: datetime.datetime, offset: int = 0) -> datetime.datetime | None:
    """Return the first time after this one, moved by ``offset`` seconds. None: there is none."""
    moved = datetime.timedelta(seconds=offset)
    for local in CronSim(cron, in_zone(after - moved, zone)):
        # In the hour that comes twice, a job at a fixed time has its first one, which may be over.
        if (at := _naive(local) + moved) > after:
            return at
    return None


def preceding(cron: str, zone: str, before: datetime.datetime) -> datetime.datetime | None:
    """Return the last time before this one. None: there is none since 1970."""
    for local in CronSim(cron, in_zone(before, zone), reverse=True):
        if local.year < _FIRST_YEAR:
            break
        if (at := _naive(local)) < before:
            return at
    return None


def next_times(
    cron: str, zone: str, after: datetime.datetime, count: int, offset: int = 0
) -> list[datetime.datetime]:
    """Return the next times."""
    times: list[datetime.datetime] = []
    at = following(cron, zone, after, offset)
    while at is not None and len(times) < count:
        times.append(at)
        at = following(cron, zone, at, offset)
    return times


def offset_of(schedule_id: str, jitter: int) -> int:
    """Return the seconds by which a schedule is later than its times: the same ones each time, up to ``jitter``."""
    digest = hashlib.sha256(schedule_id.encode()).digest()
    return int.from_bytes(digest[:8]) % (jitter + 1)
