# SPDX-License-Identifier: Apache-2.0
"""What times a schedule has and what it keeps, found the long way: minute by minute, and by counting."""

import datetime
import zoneinfo

_MINUTE = datetime.timedelta(minutes=1)
#: What the clocks show, as far as it says in which period a time is. An hour that comes twice is two.
_PERIODS = {
    'last': lambda local: local.timestamp(),
    'hour': lambda local: (local.strftime('%Y%m%d%H'), local.utcoffset()),
    'day': lambda local: local.strftime('%Y%m%d'),
    'week': lambda local: local.strftime('%G%V'),
    'month': lambda local: local.strftime('%Y%m'),
    'year': lambda local: local.strftime('%Y'),
}


def _local(at, zone):
    return at.replace(tzinfo=datetime.UTC).astimezone(zone)


def _field(text, last):
    """Return the numbers that a field of a cron expression fits: ``*``, ``*/N``, or numbers."""
    if text.startswith('*'):
        return set(range(0, last + 1, int(text.partition('/')[2] or 1)))
    return {int(part) for part in text.split(',')}


def times(cron, zone, first, last):
    """Return the times of a schedule between two, all naive UTC. ``cron``: minutes and hours, and three stars."""
    minute, hour = cron.split()[:2]
    minutes, hours = _field(minute, 59), _field(hour, 23)
    fixed = not (minute.startswith('*') or hour.startswith('*'))
    zone, found, seen = zoneinfo.ZoneInfo(zone), set(), set()
    at = before = first.replace(second=0, microsecond=0)
    while at <= last:
        local, earlier = _local(at, zone), _local(before, zone)
        shown = {local.replace(tzinfo=None)}
        if fixed:
            # Clocks that went forward pass over times, all of which are now; those that went back show times again.
            passed = local.replace(tzinfo=None) - earlier.replace(tzinfo=None)
            shown |= {local.replace(tzinfo=None) - _MINUTE * late for late in range(int(passed / _MINUTE))}
            shown -= seen
            seen |= shown
        if any(one.minute in minutes and one.hour in hours for one in shown):
            found.add(at)
        before, at = at, at + _MINUTE
    return found


def kept(good, keep, zone):
    """Return those of the times of good copies that are kept."""
    zone, stay = zoneinfo.ZoneInfo(zone), set()
    for period, count in keep.items():
        had = []
        for at in sorted(good, reverse=True):
            when = _PERIODS[period](_local(at, zone))
            if when not in had:
                had.append(when)
                stay |= {at} if len(had) <= count else set()
    return stay if keep else set(good)
