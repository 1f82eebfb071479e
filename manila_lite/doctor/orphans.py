# SPDX-License-Identifier: Apache-2.0
"""Rows without an owner, and wrong usage: sizes of resizes that are not under way, missing triggers, and sums that are not
those of the rows.
"""

import functools
import itertools
from collections.abc import Iterator
from typing import Any

from manila_lite.db.core.engine import Connection, Row
from manila_lite.db.doctor import shares
from manila_lite.db.maintenance import orphans
from manila_lite.db.models import quota_triggers
from manila_lite.db.queries import quota_sums, quotas
from manila_lite.doctor.finding import Finding, RepairContext

#: Number of keys that a line names.
_NAMED = 3


def find_sizes(conn: Connection, repair: RepairContext) -> Iterator[Finding]:
    """Yield sizes of resizes that are not under way."""
    for row in shares.list_stale_target_sizes(conn):
        yield Finding(
            'quota',
            row.id,
            f'{row.size} -> {row.target_size} GiB',
            'quota counts a resize that is not under way',
            wrong=True,
            about='share',
            project_id=row.project_id,
            age=repair.age(row.since),
            mend=functools.partial(_drop, row=row),
        )


def _drop(conn: Connection, repair: RepairContext, row: Row[Any]) -> str | None:
    return f'counts with its {row.size} GiB' if shares.clear_stale_target_size(conn, row.id) else None


def find_triggers(conn: Connection, repair: RepairContext) -> Iterator[Finding]:
    """Yield the triggers of quotas that the database lacks."""
    for name in quota_triggers.absent(conn):
        yield Finding(
            'quota',
            name,
            'missing',
            'usage does not change with the rows: a trigger is missing',
            wrong=True,
            mend=functools.partial(_make, name=name),
        )


def _make(conn: Connection, repair: RepairContext, name: str) -> str | None:
    return 'made' if quota_sums.make_trigger(conn, name) else None


def find_sums(conn: Connection, repair: RepairContext) -> Iterator[Finding]:
    """Yield projects whose usage is not that of their rows. Somebody changed these while the triggers were off or missing."""
    wrong = itertools.groupby(quota_sums.list_missing(conn), lambda row: row.project_id)
    for project_id, rows in wrong:
        resources = ', '.join(sorted({row.resource for row in rows}))
        yield Finding(
            'quota',
            project_id,
            'wrong',
            f'usage is not that of the rows: {resources}',
            wrong=True,
            project_id=project_id,
            mend=functools.partial(_add, project_id=project_id),
        )


def _add(conn: Connection, repair: RepairContext, project_id: str) -> str | None:
    quotas.lock(conn, project_id)
    return 'usage is counted from the rows' if quota_sums.add_missing(conn, project_id) else None


def find_orphans(conn: Connection, repair: RepairContext) -> Iterator[Finding]:
    """Yield rows without an owner, by table and reason."""
    for kind in orphans.kinds():
        keys = kind.find(conn)
        if keys:
            named = ', '.join(keys[:_NAMED]) + (' ...' if len(keys) > _NAMED else '')
            yield Finding(
                'rows',
                kind.table.name,
                f'{len(keys)} left',
                f'{kind.why}: {named}',
                wrong=kind.harmful,
                mend=functools.partial(_clean, kind=kind),
            )


def _clean(conn: Connection, repair: RepairContext, kind: orphans.Orphans) -> str | None:
    count = kind.clean(conn)
    done = f'{kind.clear} is empty now' if kind.clear else 'deleted'
    return f'{count} rows: {done}' if count else None
