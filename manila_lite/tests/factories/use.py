# SPDX-License-Identifier: Apache-2.0
"""How full a share is, as if its backend had measured it: the backend ``dummy`` holds nothing."""

import contextlib
import datetime
import sqlite3

from manila_lite.tests import waiting

#: Hours of the history that is written.
HOURS = 48
_GIB = 2**30


def _points(begin, first, step):
    """Yield slot, time, and seconds since the beginning of each point of a series."""
    for slot, at in enumerate(range(first, HOURS * 3600 + 1, step)):
        yield slot, str(begin + datetime.timedelta(seconds=at)), at


#: Seconds of the points of each series, and when it begins.
_SERIES = ((3600, 3600), (300, (HOURS - 24) * 3600 + 300))


def grow_together(database, kind, owner, size, percent):
    """Write that what the shares of a 'pool' or a 'project' hold grew steadily to so many percent of so many GiB."""
    limit = size * _GIB
    begin = datetime.datetime.now(datetime.UTC).replace(tzinfo=None) - datetime.timedelta(hours=HOURS)
    with contextlib.closing(sqlite3.connect(database, timeout=waiting.LIMIT)) as rows, rows:
        rows.executemany(
            'INSERT INTO share_usage_sums (kind, owner, resolution, slot, measured_at, shares, used_bytes, limit_bytes,'
            ' snapshot_bytes) VALUES (?, ?, ?, ?, ?, 2, ?, ?, 0)',
            [
                (kind, owner, step, slot, at, limit * percent // 100 * seconds // (HOURS * 3600), limit)
                for step, first in _SERIES
                for slot, at, seconds in _points(begin, first, step)
            ],
        )


def grow(database, share_id, size, percent):
    """Write that a share of so many GiB grew steadily to so many percent: in hours, and in five minutes since yesterday."""
    now = datetime.datetime.now(datetime.UTC).replace(tzinfo=None)
    limit = size * _GIB
    used = limit * percent // 100
    begin = now - datetime.timedelta(hours=HOURS)

    def points(resolution, first, step):
        for slot, at, seconds in _points(begin, first, step):
            yield share_id, resolution, slot, at, used * seconds // (HOURS * 3600), limit

    with contextlib.closing(sqlite3.connect(database, timeout=waiting.LIMIT)) as rows, rows:
        rows.execute(
            'INSERT INTO share_usage (share_id, measured_at, used_bytes, limit_bytes, snapshot_bytes, files, percent_full)'
            ' VALUES (?, ?, ?, ?, ?, 1234, ?)',
            (share_id, str(now), used, limit, used // 20, percent),
        )
        rows.executemany(
            'INSERT INTO share_usage_history (share_id, resolution, slot, measured_at, used_bytes, limit_bytes)'
            ' VALUES (?, ?, ?, ?, ?, ?)',
            [point for step, first in _SERIES for point in points(step, first, step)],
        )
