#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A list of 1,000 shares in detail, out of 1,000 and out of 100,000: from the request to the bytes of the answer.

The baselines: the same statements, taken down from the product, by sqlite3 alone, once as rows (which nobody can send)
and once as JSON that the database builds. A ratio of 1 would mean that the product adds nothing.
"""

import sqlite3
import sys

import inside
import report
from oslo_utils import timeutils, uuidutils

from manila_lite.db import models

LEAST = 0.4
PAGE = 1000
_BATCH = 10_000


def fill(services, type_id: str, count: int) -> None:
    """Add ``count`` shares with two pairs of metadata each."""
    tables = (
        (models.shares, ('id', 'created_at', 'project_id', 'user_id', 'name', 'size', 'share_proto')),
        (
            models.share_instances,
            (
                'id',
                'created_at',
                'share_id',
                'host',
                'status',
                'access_rules_status',
                'share_type_id',
                'progress',
            ),
        ),
        (models.share_metadata, ('owner_id', 'key', 'value')),
    )
    for start in range(0, count, _BATCH):
        share_ids = [uuidutils.generate_uuid() for _ in range(min(_BATCH, count - start))]
        now = str(timeutils.utcnow())
        rows = (
            [
                (share_id, now, 'p', 'u', f'share {number}', 1, 'NFS')
                for number, share_id in enumerate(share_ids)
            ],
            [
                (uuidutils.generate_uuid(), now, share_id, 'h@a#p', 'available', 'active', type_id, '100%')
                for share_id in share_ids
            ],
            [(share_id, key, 'v') for share_id in share_ids for key in 'ab'],
        )
        with services.db.writer() as conn:
            for (table, columns), values in zip(tables, rows, strict=True):
                marks = ', '.join('?' * len(columns))
                text = f'INSERT INTO {table.name} ({", ".join(columns)}) VALUES ({marks})'  # noqa: S608 - our own names
                conn.exec_driver_sql(text, values)


def _as_json(conn: sqlite3.Connection, statement: str, values: tuple) -> str:
    """Return a statement that has the same rows as one JSON text."""
    names = [column[0] for column in conn.execute(statement, values).description]
    pairs = ', '.join(f'\'{name}\', "{name}"' for name in names)
    return f'SELECT json_group_array(json_object({pairs})) FROM ({statement})'  # noqa: S608 - the product's own


def compare(figures: report.Report, made: inside.Inside, count: int) -> None:
    """Measure, and add the lines for a table of ``count`` shares."""
    path = f'/shares/detail?limit={PAGE}'
    asked = made.statements(lambda: made.get(path))
    conn = sqlite3.connect(made.services.db.engine.url.database)

    def bare() -> None:
        for statement, values in asked:
            conn.execute(statement, values).fetchall()

    pages = [(_as_json(conn, *one), one[1]) for one in asked]

    def built() -> None:
        for statement, values in pages:
            conn.execute(statement, values).fetchall()

    calls, rounds = figures.pick((2, 1), (3, 15), (5, 41))
    alone, ready, whole = report.costs((bare, built, lambda: made.get(path)), calls, rounds)
    limit = figures.add(f'page built by the database, out of {count:,}', 1e6 / ready, '/s of a core')
    base = figures.add(f'bare fetch, out of {count:,}', 1e6 / alone, '/s of a core')
    figures.add(f'list in detail, out of {count:,}', 1e6 / whole, '/s of a core', limit, least=LEAST)
    figures.add('the same, beside the fetch', 1e6 / whole, '/s of a core', base, least=LEAST)
    figures.add(f'statements, out of {count:,}', len(asked), 'statements')
    conn.close()


def measure(figures: report.Report) -> None:
    """Measure, and add the lines."""
    with inside.inside() as made:
        there = 0
        for count in figures.pick((1000,), (1000, 100_000), (1000, 100_000)):
            report.say(f'{count:,} shares')
            fill(made.services, made.type_id, count - there)
            there = count
            compare(figures, made, count)


if __name__ == '__main__':
    sys.exit(report.main(__doc__, measure))
