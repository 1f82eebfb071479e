# SPDX-License-Identifier: Apache-2.0
"""Which copies a schedule keeps: the newest of each of the last hours, days, weeks, months and years that have any.

``keep`` has the number of each rule. A copy that one rule keeps is kept. Without any rule, all are. The first choice of each
rule is the newest good copy, so that one always stays.
"""

import datetime
import enum
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

from manila_lite.values import schedule_times


def _hour(local: datetime.datetime) -> datetime.datetime:
    """Return the first minute of the hour with the same offset: minutes that come twice belong to two hours."""
    minutes = (local.replace(minute=minute, second=0, microsecond=0) for minute in range(local.minute + 1))
    return next(at for at in minutes if at.utcoffset() == local.utcoffset())


def _day(local: datetime.datetime) -> datetime.datetime:
    return local.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)


def _week(local: datetime.datetime) -> datetime.datetime:
    return _day(local - datetime.timedelta(days=local.weekday()))


def _month(local: datetime.datetime) -> datetime.datetime:
    return _day(local.replace(day=1))


def _year(local: datetime.datetime) -> datetime.datetime:
    return _day(local.replace(month=1, day=1))


def _itself(local: datetime.datetime) -> datetime.datetime:
    return local


#: The rules. Each returns the beginning of the period, of which it keeps one copy, from a time within it.
RULES: Mapping[str, Callable[[datetime.datetime], datetime.datetime]] = {
    'last': _itself,
    'hour': _hour,
    'day': _day,
    'week': _week,
    'month': _month,
    'year': _year,
}
#: The largest number of a rule.
MOST = 366


class State(enum.Enum):
    """The worth of a copy. BUSY: it is being made, deleted or restored; DOUBTFUL: it was good, and is in error."""

    GOOD = 'good'
    DOUBTFUL = 'doubtful'
    FAILED = 'failed'
    BUSY = 'busy'


class Copy(NamedTuple):
    """A copy that a schedule made of one share or group, by the time of the run that made it."""

    id: str
    at: datetime.datetime
    state: State


def _begin(rule: str, at: datetime.datetime, zone: str) -> datetime.datetime:
    return RULES[rule](schedule_times.in_zone(at, zone)).astimezone(datetime.UTC).replace(tzinfo=None)


def kept(times: Iterable[datetime.datetime], keep: Mapping[str, int], zone: str) -> set[datetime.datetime]:
    """Return those of the times whose copies are kept, if all are good."""
    ordered = sorted(times)
    if not keep:
        return set(ordered)
    chosen: set[datetime.datetime] = set()
    for rule, count in keep.items():
        newest = {
            _begin(rule, at, zone): at for at in ordered
        }  # a later one takes the place of an earlier one
        chosen.update(sorted(newest.values())[-count:])
    return chosen


def expired(copies: Collection[Copy], keep: Mapping[str, int], zone: str) -> list[str]:
    """Return the ids of copies to delete, the oldest first. Busy ones are left alone.

    Of copies that failed, the newest one is kept if no good one is newer. Doubtful ones take the place of no good one, and
    stay as long as if they were good.
    """
    if not keep:
        return []
    good, doubtful, all_failed = (
        [copy.at for copy in copies if copy.state is state]
        for state in (State.GOOD, State.DOUBTFUL, State.FAILED)
    )
    failed = max(all_failed, default=None)
    stay = {
        State.GOOD: kept(good, keep, zone),
        State.DOUBTFUL: kept([*good, *doubtful], keep, zone),
        State.FAILED: {failed} if failed and all(failed > at for at in good) else set(),
    }
    gone = [copy for copy in copies if copy.state in stay and copy.at not in stay[copy.state]]
    return [copy.id for copy in sorted(gone, key=lambda copy: copy.at)]


def standing(
    cron: str, zone: str, keep: Mapping[str, int], now: datetime.datetime
) -> list[datetime.datetime]:
    """Return the times of all copies that there would be now, the newest first, if a schedule had always run."""
    chosen: set[datetime.datetime] = set()
    for rule, count in keep.items():
        at = schedule_times.preceding(cron, zone, now)
        for _ in range(count):
            if at is None:
                break
            chosen.add(at)
            at = schedule_times.preceding(cron, zone, _begin(rule, at, zone))
    return sorted(chosen, reverse=True)
