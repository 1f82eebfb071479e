# SPDX-License-Identifier: Apache-2.0
"""Writes of many rows at once, whether or not there are rows with the same primary keys, in one statement for each portion.

Databases have words of their own for it: it is in no standard.
"""

import functools
import importlib
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from manila_lite.db.core.prepared import Write

#: Rows of one statement at most. With ten columns they have a third of the values that SQLite takes.
MOST = 1000


def upsert(conn: Connection, table: sa.Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert the rows, which have the same columns and different keys. A row that is there already gets their values, and
    keeps its own in other columns.
    """
    for start in range(0, len(rows), MOST):
        portion = rows[start : start + MOST]
        _statement(conn.dialect.name, table, tuple(portion[0]), len(portion)).execute(
            conn,
            {f'{name}_{number}': value for number, row in enumerate(portion) for name, value in row.items()},
        )


@functools.lru_cache(maxsize=16)
def _statement(dialect: str, table: sa.Table, names: tuple[str, ...], size: int) -> Write:
    rows = [
        {name: sa.bindparam(f'{name}_{number}', type_=table.c[name].type) for name in names}
        for number in range(size)
    ]
    keys = [column.key for column in table.primary_key]
    others = [name for name in names if name not in keys]
    if dialect in ('mysql', 'mariadb'):
        from sqlalchemy.dialects import mysql  # no process loads the dialect of another database

        mine = mysql.insert(table).values(rows)
        changed = mine.on_duplicate_key_update({name: mine.inserted[name] for name in others})
        return Write(changed, by_column=False)
    words = importlib.import_module(f'sqlalchemy.dialects.{dialect}')
    new = words.insert(table).values(rows)
    changed = new.on_conflict_do_update(
        index_elements=keys, set_={name: new.excluded[name] for name in others}
    )
    return Write(changed, by_column=False)
