# SPDX-License-Identifier: Apache-2.0
"""Shared parts of lists: the choice of the project, and the load of related data.

Related data is loaded for all rows at once, so that a list needs the same number of statements whatever its length.
"""

from collections.abc import Callable, Sequence
from typing import Any

from manila_lite.api.request import Request
from manila_lite.db.core import key_values
from manila_lite.db.core.engine import Connection

#: Loads related data of rows for the view.
Load = Callable[[Connection, Request, Sequence[Any]], None]


def loader(name: str, query: Callable[[Connection, list[str]], Any]) -> Load:
    """Return a loader: it asks the query about the ids of rows, and keeps the answer for the view under ``name``."""

    def load(conn: Connection, req: Request, rows: Sequence[Any]) -> None:
        req.related[name] = query(conn, [row.id for row in rows])

    return load


def reader(name: str, none: Any) -> Callable[[Any, Request], Any]:
    """Return a reader: it looks a row up in the answer under ``name``. ``none``: the value of rows that are not in it."""
    return lambda row, req: req.related[name].get(row.id, none)


def pairs_loader(table: Any) -> Load:
    """Return a loader of the pairs of rows: their metadata or their specs."""
    return loader('metadata', lambda conn, ids: key_values.of_many(conn, table, ids))


#: Reads the pairs of a row.
pairs_of = reader('metadata', {})


def choose_project(req: Request, filters: dict[str, Any], rule: str, *, alone: bool = False) -> str | None:
    """Return the project of the rows that a list shows.

    It is the caller's, or with ``all_tenants`` one project or all (``None``). Clients send ``all_tenants`` with each
    look-up by name, so it is ignored, as in Manila, if ``rule`` does not allow it to the caller. ``alone``: ``project_id``
    counts without ``all_tenants``, too. Both are taken out of the filters.
    """
    everybody, wanted = filters.pop('all_tenants', False), filters.pop('project_id', None)
    return wanted if (everybody or (alone and wanted)) and req.may(rule) else req.ctx.project_id or ''


#: Query parameters that are no filters.
_NO_FILTERS = {
    'all_tenants',
    'all_projects',
    'limit',
    'marker',
    'offset',
    'sort_dir',
    'sort_key',
    'with_count',
}


def finds_nothing(req: Request) -> bool:
    """Say whether an unknown filter leaves nothing, as in Manila for administrators. Those of others are ignored."""
    return bool(req.ctx.is_admin and req.unknown - _NO_FILTERS)


def loaded(req: Request, row: Any, load: Load) -> Any:
    """Return the row, after its related data was loaded for the view."""
    with req.ctx.db.reader() as conn:
        load(conn, req, [row])
    return row
