# SPDX-License-Identifier: Apache-2.0
"""How full a share is, as if its backend had measured it: the backend ``dummy`` holds nothing."""

import contextlib
import datetime
import sqlite3

from manila_lite.tests import waiting

#: Hours of the history that is written.
HOURS = 48
_GIB = 2**30


def grow(database, share_id, size, percent):
    """Write that a share of so many GiB grew steadily to so many percent: in hours, and in five minutes since yesterday."""
    now = datetime.datetime.now(datetime.UTC).replace(tzinfo=None)
    limit = size * _GIB
    used = limit * percent // 100
    begin = now - datetime.timedelta(hours=HOURS)

    def points(resolution, first, step):
        for slot, at in enumerate(range(first, HOURS * 3600 + 1, step)):
            yield (
                share_id,
                resolution,
                slot,
                str(begin + datetime.timedelta(seconds=at)),
                used * at // (HOURS * 3600),
                limit,
            )

    with contextlib.closing(sqlite3.connect(database, timeout=waiting.LIMIT)) as rows, rows:
        rows.execute(
            'INSERT INTO share_usage (share_id, measured_at, used_bytes, limit_bytes, snapshot_bytes, files, percent_full)'
            ' VALUES (?, ?, ?, ?, ?, 1234, ?)',
            (share_id, str(now), used, limit, used // 20, percent),
        )
        rows.executemany(
            'INSERT INTO share_usage_history (share_id, resolution, slot, measured_at, used_bytes, limit_bytes)'
            ' VALUES (?, ?, ?, ?, ?, ?)',
            [*points(3600, 3600, 3600), *points(300, (HOURS - 24) * 3600 + 300, 300)],
        )
