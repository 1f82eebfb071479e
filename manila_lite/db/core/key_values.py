# SPDX-License-Identifier: Apache-2.0
"""Key/value pairs of an owner: metadata and extra specs, all stored the same way.

With ``conf``, the limit on the number of pairs applies (see ``limits.py``).
"""

import functools
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from manila_lite import errors
from manila_lite.db.core import limits, row_locks
from manila_lite.db.core.prepared import Among, Write


def of(conn: Connection, table: sa.Table, owner_id: str) -> dict[str, str]:
    """Return the owner's pairs."""
    return of_many(conn, table, (owner_id,)).get(owner_id, {})


def of_many(conn: Connection, table: sa.Table, owner_ids: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return the pairs of several owners by owner id, in one statement; owners without any are left out."""
    pairs: dict[str, dict[str, str]] = defaultdict(dict)
    for owner, key, value in _of_owners(table).all(conn, tuple(owner_ids)):
        pairs[owner][key] = value
    return pairs


@functools.cache
def _of_owners(table: sa.Table) -> Among:
    # In the order of the primary key, so that nothing is sorted.
    return Among(
        sa.select(table.c.owner_id, table.c.key, table.c.value).order_by(table.c.owner_id, table.c.key),
        table.c.owner_id,
    )


def merge(
    conn: Connection, table: sa.Table, owner_id: str, values: Mapping[str, str], conf: Any = None
) -> None:
    """Add these pairs to the owner's, or replace those of the same keys.

    :raises errors.OverLimit: they would be too many.
    """
    if values:
        lock_owners(conn, table, (owner_id,))
        if conf is not None:
            had, same = _count(conn, table, owner_id, tuple(values))
            _must_fit(conf, table, owner_id, had, had - same + len(values))
        conn.execute(table.delete().where(table.c.owner_id == owner_id, table.c.key.in_(tuple(values))))
        insert(conn, table, owner_id, values)


def lock_owners(conn: Connection, table: sa.Table, owner_ids: Iterable[str]) -> None:
    """Lock the owners' pairs until the transaction ends: of two transactions with one key, each would find no pair to
    delete, and the second could not insert its own. On SQLite there is only one writer anyway.
    """
    if conn.dialect.name != 'sqlite':
        [key] = table.c.owner_id.foreign_keys
        mine = key.column.in_(tuple(owner_ids))
        conn.execute(sa.select(key.column).where(mine).order_by(key.column).with_for_update(key_share=True))
        row_locks.certify(conn, key.column.table, mine)


def merge_many(conn: Connection, table: sa.Table, wanted: Mapping[str, Mapping[str, str]]) -> None:
    """Do as ``merge`` for several owners in at most three statements. Only changes are written."""
    had = of_many(conn, table, wanted) if any(wanted.values()) else {}
    changed = [
        {'owner_id': owner, 'key': key, 'value': value}
        for owner, values in wanted.items()
        for key, value in values.items()
        if had.get(owner, {}).get(key) != value
    ]
    if not changed:
        return
    conn.execute(
        table.delete().where(
            table.c.owner_id.in_({row['owner_id'] for row in changed}),
            sa.tuple_(table.c.owner_id, table.c.key).in_([(row['owner_id'], row['key']) for row in changed]),
        )
    )
    _insert(table).execute_many(conn, changed)


def _count(conn: Connection, table: sa.Table, owner_id: str, keys: Collection[str]) -> tuple[int, int]:
    """Return how many pairs the owner has, and how many of them have these keys."""
    mine = sa.select(sa.func.count()).select_from(table).where(table.c.owner_id == owner_id)
    return conn.execute(mine).scalar_one(), conn.execute(
        mine.where(table.c.key.in_(keys))
    ).scalar_one() if keys else 0


def _must_fit(conf: Any, table: sa.Table, owner_id: str, had: int, will: int) -> None:
    [key] = table.c.owner_id.foreign_keys
    owner = key.column.table.name.removesuffix('s').replace('_', ' ')
    limits.check(conf, 'metadata_items', f'{owner} {owner_id}', had, will)


def replace(
    conn: Connection,
    table: sa.Table,
    owner_id: str,
    values: Mapping[str, str],
    keep: Iterable[str] = (),
    conf: Any = None,
) -> None:
    """Set the owner's pairs to exactly these, and keep its pairs of the keys in ``keep``.

    :raises errors.OverLimit: they would be too many.
    """
    lock_owners(conn, table, (owner_id,))
    kept = [key for key in keep if key not in values]
    if conf is not None:
        had, stay = _count(conn, table, owner_id, kept)
        _must_fit(conf, table, owner_id, had, stay + len(values))
    conn.execute(table.delete().where(table.c.owner_id == owner_id, table.c.key.not_in(kept)))
    insert(conn, table, owner_id, values)


def insert(
    conn: Connection, table: sa.Table, owner_id: str, values: Mapping[str, str], conf: Any = None
) -> None:
    """Insert pairs of an owner that has none of these keys yet, and with ``conf`` none at all.

    :raises errors.OverLimit: they are too many.
    """
    if conf is not None:
        _must_fit(conf, table, owner_id, 0, len(values))
    if values:
        _insert(table).execute_many(
            conn, [{'owner_id': owner_id, 'key': key, 'value': value} for key, value in values.items()]
        )


@functools.cache
def _insert(table: sa.Table) -> Write:
    return Write(table.insert())


def remove(
    conn: Connection, table: sa.Table, owner_id: str, key: str, item_name: str = 'metadata item'
) -> None:
    """Delete the pair.

    :raises errors.NotFound: the owner has no such key.
    """
    if not conn.execute(table.delete().where(table.c.owner_id == owner_id, table.c.key == key)).rowcount:
        raise errors.NotFound.of(item_name, key)


def matching(
    table: sa.Table, owner: sa.ColumnElement[Any], wanted: Mapping[str, str]
) -> list[sa.ColumnElement[bool]]:
    """Return conditions that hold for owners that have all of the ``wanted`` pairs."""
    return [
        sa.exists().where(table.c.owner_id == owner, table.c.key == key, table.c.value == value)
        for key, value in wanted.items()
    ]
