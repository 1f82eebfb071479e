# SPDX-License-Identifier: Apache-2.0
"""Notes of requests that were slow or ended in an error of the service: those of the last hour, of all API processes."""

import datetime
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import sqlalchemy as sa
from oslo_utils import uuidutils
from sqlalchemy.engine import Connection, Row

from manila_lite.db.core import host_time, paging
from manila_lite.db.models import request_notes as _notes

#: How long a note is shown. Older ones are deleted.
KEEP = datetime.timedelta(hours=1)


class Counts(NamedTuple):
    """Numbers of requests."""

    slow: int
    failed: int


def add(conn: Connection, notes: Iterable[Mapping[str, Any]]) -> None:
    """Add notes, of at least one request, in one statement."""
    conn.execute(_notes.insert(), [{'id': uuidutils.generate_uuid(), **note} for note in notes])


def delete_old(conn: Connection) -> int:
    """Delete notes that are no longer shown. Return their number."""
    return conn.execute(_notes.delete().where(_notes.c.created_at < _since(conn))).rowcount


_SORTABLE = {column.name: column for column in _notes.c}


def list_notes(conn: Connection, filters: Mapping[str, Any], page: paging.Page) -> list[Row[Any]]:
    """Return notes, the newest first. The filters ``slow`` and ``failed`` are booleans."""
    query = sa.select(_notes).where(_is_recent(conn))
    for name in ('slow', 'failed'):
        if filters.get(name) is not None:
            query = query.where(_notes.c[name] > 0 if filters[name] else _notes.c[name] == 0)
    return list(conn.execute(page.apply(query, _SORTABLE, tie=_notes.c.id)))


def count(conn: Connection) -> Counts:
    """Return how many requests were slow, and how many failed."""
    sums = (sa.func.coalesce(sa.func.sum(column), 0) for column in (_notes.c.slow, _notes.c.failed))
    return Counts(*map(int, conn.execute(sa.select(*sums).where(_is_recent(conn))).one()))


def list_worst(conn: Connection, most: int) -> list[Row[Any]]:
    """Return at most so many notes: of failed requests before others, and the longest first."""
    order = (
        sa.case((_notes.c.failed > 0, 0), else_=1),
        _notes.c.seconds.desc(),
        _notes.c.created_at.desc(),
        _notes.c.id,
    )
    return list(conn.execute(sa.select(_notes).where(_is_recent(conn)).order_by(*order).limit(most)))


def _is_recent(conn: Connection) -> sa.ColumnElement[bool]:
    return _notes.c.created_at >= _since(conn)


def _since(conn: Connection) -> datetime.datetime:
    return host_time.now(conn) - KEEP
