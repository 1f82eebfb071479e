# SPDX-License-Identifier: Apache-2.0
"""Rows of every table, with a value in each column, that violate no constraint of databases.

Made from the models, so that a new table needs no new code here.
"""

import datetime
import random

import sqlalchemy as sa

from manila_lite.db import models
from manila_lite.db.models.base import Json

#: Values that are easily damaged: microseconds, bits, signs, blanks, quotes, characters of four bytes.
_DAY = datetime.datetime.fromisoformat('2001-12-31 23:59:59.999999')
_ODD = ' r\u00f6w {} \U0001f4a9 \'"\\%_$ '
_JSON = {'b': [1, 2.5, None, True], 'a': {'\u00e4': 1 << 60, '': ' \U0001f4a9\n'}}


def make(conn, count, first=0, *, mixed=False):
    """Add ``count`` rows to each table, numbered from ``first``; only triggers write ``quota_changes``. Rows that refer to
    their own table refer to the last one, which some databases accept only without checks (``dirty.unguarded``).

    ``mixed``: the values of each column but ``id`` are in an order of their own.
    """
    numbers = list(range(first, first + count))
    for table in (table for table in models.metadata.sorted_tables if table is not models.quota_changes):
        columns = {
            column.key: [_value(column, number) for number in (_mixed(column, numbers) if mixed else numbers)]
            for column in table.columns
        }
        rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
        for keys in (key for key in table.foreign_keys if key.column.table is table):
            for row in rows:
                row[keys.parent.name] = _value(keys.column, first + count - 1)
        conn.execute(table.insert(), rows)


def _mixed(column, numbers):
    return numbers if column.name == 'id' else random.Random(str(column)).sample(numbers, len(numbers))


def _value(column, number):
    """Return a value that tells rows apart, or the value in the row that a foreign key refers to."""
    for key in column.foreign_keys:
        return _value(key.column, number)
    kind = column.type
    if isinstance(kind, Json):
        return _JSON | {'number': number}
    if isinstance(kind, sa.String):
        text = _ODD.format(number) * (200 if kind.length is None else 1)
        return text if kind.length is None or len(text) <= kind.length else f'\u00f6{number}'
    return _OTHERS[type(kind)](number)


_OTHERS = {
    sa.DateTime: lambda number: _DAY - datetime.timedelta(microseconds=number),
    sa.Boolean: lambda number: number % 2 == 0,
    sa.Integer: lambda number: 2**31 - 1 - number,
    sa.BigInteger: lambda number: 2**63 - 1 - number,
    sa.Float: lambda number: 0.5 + number,
}
