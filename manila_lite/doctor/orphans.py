# SPDX-License-Identifier: Apache-2.0
"""Rows without an owner, and sizes of resizes that are not under way, which quota counts."""

from collections.abc import Iterator

from manila_lite.db.core.engine import Connection, Row
from manila_lite.db.doctor import shares
from manila_lite.db.maintenance import orphans
from manila_lite.doctor.finding import Finding, Mend, RepairContext

#: Number of keys that a line names.
_NAMED = 3


def find_sizes(conn: Connection, repair: RepairContext) -> Iterator[Finding]:
    """Yield sizes of resizes that are not under way. Quota counts all other usage anew each time."""
    for row in shares.list_stale_target_sizes(conn):
        yield Finding('quota', row.id, f'{row.size} -> {row.target_size} GiB',
                      'quota counts a resize that is not under way', wrong=True, about='share',
                      project_id=row.project_id, age=repair.age(row.since), mend=_drop(row))


def _drop(row: Row) -> Mend:
    def mend(conn: Connection, repair: RepairContext) -> str | None:
        return f'counts with its {row.size} GiB' if shares.clear_stale_target_size(conn, row.id) else None
    return mend


def find_orphans(conn: Connection, repair: RepairContext) -> Iterator[Finding]:
    """Yield rows without an owner, by table and reason."""
    for kind in orphans.kinds():
        keys = kind.find(conn)
        if keys:
            named = ', '.join(keys[:_NAMED]) + (' ...' if len(keys) > _NAMED else '')
            yield Finding('rows', kind.table.name, f'{len(keys)} left', f'{kind.why}: {named}', wrong=kind.harmful,
                          mend=_clean(kind))


def _clean(kind: orphans.Orphans) -> Mend:
    def mend(conn: Connection, repair: RepairContext) -> str | None:
        count = kind.clean(conn)
        done = f'{kind.clear} is empty now' if kind.clear else 'deleted'
        return f'{count} rows: {done}' if count else None
    return mend
