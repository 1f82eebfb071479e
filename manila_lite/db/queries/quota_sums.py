# SPDX-License-Identifier: Apache-2.0
"""Usage as the sum of its changes (``quota_triggers``): as fast for a hundred thousand shares as for none.

A change is committed together with the row that it is about, whoever writes that row; so the sum is always that of the rows.
Behind the project's lock, one change takes the place of many (``fold``), so that a sum never reads many.
"""

import json
from collections import Counter
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from manila_lite.db import models
from manila_lite.db.core.prepared import Query, Write
from manila_lite.db.models import quota_triggers
from manila_lite.db.queries.quota_counts import Usage

_changes = models.quota_changes
_PROJECT: sa.BindParameter[str] = sa.bindparam('project')
_USER: sa.BindParameter[str] = sa.bindparam('user')

#: Changes beyond the sums until they are folded, and how many are folded at most in one transaction.
_FEW, _MANY = 100, 2000

#: By table that is counted: the resources of its number of rows and of their GiB.
_RESOURCES = {
    'shares': ('shares', 'gigabytes'),
    'snapshots': ('snapshots', 'snapshot_gigabytes'),
    'share_networks': ('share_networks', None),
    'share_groups': ('share_groups', None),
    'share_group_snapshots': ('share_group_snapshots', None),
    'share_backups': ('backups', 'backup_gigabytes'),
}
_KEYS = 'encryption_keys'
_NONE = {name: Usage() for pair in _RESOURCES.values() for name in (*pair, _KEYS) if name}


class Sums(NamedTuple):
    """Usage of the project and of the user, by resource; and how many changes more there are than sums."""

    project: dict[str, Usage]
    user: dict[str, Usage]
    surplus: int


_FIGURES = [_changes.c[name] for name in quota_triggers.SUMS]
_SURPLUS = sa.func.count() - sa.func.count(sa.distinct(_changes.c.user_id))
_SUMS = Query(
    sa.select(
        _changes.c.resource,
        _changes.c.encryption_key_ref,
        _SURPLUS.label('surplus'),
        *(sa.func.sum(figure).label(figure.name) for figure in _FIGURES),
        *(
            sa.func.sum(sa.case((_changes.c.user_id == _USER, figure), else_=0)).label(f'user_{figure.name}')
            for figure in _FIGURES
        ),
    )
    .where(_changes.c.project_id == _PROJECT)
    .group_by(_changes.c.resource, _changes.c.encryption_key_ref)
)


def read(conn: Connection, project_id: str, user_id: str = '') -> Sums:
    """Return the usage of a project, and of a user in it."""
    rows = _SUMS.all(conn, {'project': project_id, 'user': user_id})
    return Sums(
        _usage([(*row[:2], *row[3:6]) for row in rows]),
        _usage([(*row[:2], *row[6:9]) for row in rows]),
        sum(row.surplus for row in rows),
    )


def _usage(rows: list[tuple[Any, ...]]) -> dict[str, Usage]:
    totals: Counter[tuple[str, int]] = Counter()
    keys = 0
    for resource, key, *figures in rows:
        keys += bool(key) and figures[0] > 0
        totals.update({(resource, index): int(figure) for index, figure in enumerate(figures)})
    found = {**_NONE, _KEYS: Usage(keys)}
    for resource, (number, gigabytes) in _RESOURCES.items():
        found[number] = Usage(totals[resource, 0])
        if gigabytes:
            found[gigabytes] = Usage(totals[resource, 1], totals[resource, 2])
    return found


_OLDEST = Query(
    sa.select(*_changes.c).where(_changes.c.project_id == _PROJECT).order_by(_changes.c.id).limit(_MANY)
)
#: Row by row, or MariaDB might read the whole table, and wait for rows that others are inserting, who wait for the lock.
_DELETE_ROW_BY_ROW = sa.text(
    "DELETE quota_changes FROM JSON_TABLE(:ids, '$[*]' COLUMNS (id BIGINT PATH '$')) AS folded "
    'STRAIGHT_JOIN quota_changes FORCE INDEX (PRIMARY) ON quota_changes.id = folded.id'
)
_INSERT = Write(_changes.insert())


def fold(conn: Connection, project_id: str, surplus: int) -> None:
    """Put many changes into one, if there are many. The caller holds the project's lock, so nobody else does so."""
    if surplus < _FEW:
        return
    totals: dict[tuple[str, ...], list[int]] = {}
    rows = _OLDEST.all(conn, {'project': project_id})
    for row in rows:
        total = totals.setdefault((row.user_id, row.resource, row.encryption_key_ref), [0, 0, 0])
        for index, figure in enumerate((row.number, row.gigabytes, row.growth)):
            total[index] += figure
    ids = [row.id for row in rows]
    if conn.dialect.name in ('mysql', 'mariadb'):
        conn.execute(_DELETE_ROW_BY_ROW, {'ids': json.dumps(ids)})
    else:
        conn.execute(_changes.delete().where(_changes.c.id.in_(ids)))
    names = (*quota_triggers.KEYS, *quota_triggers.SUMS)
    _INSERT.execute_many(
        conn,
        [
            dict(zip(names, (project_id, *key, *total), strict=True))
            for key, total in totals.items()
            if any(total)
        ],
    )


# Doubt ----------------------------------------------------------------------------------------


def make_trigger(conn: Connection, name: str) -> bool:
    """Make a trigger that the database lacks. Say whether it did."""
    if name not in quota_triggers.absent(conn):
        return False
    quota_triggers.create(conn, [name])
    return True


def list_missing(conn: Connection) -> list[Row[Any]]:
    """Return what the sums lack, by project, user, resource and encryption key: nothing, unless somebody changed rows past the
    triggers. Counts all rows.
    """
    return list(conn.execute(quota_triggers.missing().order_by(*map(sa.literal_column, quota_triggers.KEYS))))


def add_missing(conn: Connection, project_id: str) -> int:
    """Add what the project's sums lack. The caller holds the project's lock. Return the number of sums that were wrong."""
    return quota_triggers.fill(conn, sa.literal_column('project_id') == project_id)
