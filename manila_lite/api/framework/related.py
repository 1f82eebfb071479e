# SPDX-License-Identifier: Apache-2.0
"""Shared parts of lists: the choice of the project, and the load of related data.

Related data is loaded for all rows at once, so that a list needs the same number of statements whatever its length.
"""

from collections.abc import Callable, Sequence
from typing import Any

from manila_lite.api.request import Request
from manila_lite.db.core import key_values
from manila_lite.db.core.engine import Connection


def load_pairs(conn: Connection, req: Request, table: Any, rows: Sequence[Any]) -> None:
    """Load the pairs of these rows for the view."""
    req.related['metadata'] = key_values.of_many(conn, table, [row.id for row in rows])


def pairs_of(row: Any, req: Request) -> dict[str, str]:
    """Read the pairs of a row that ``load_pairs`` loaded: its metadata or its specs."""
    pairs: dict[str, str] = req.related['metadata'].get(row.id, {})
    return pairs


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


#: Loads related data of rows for the view.
Load = Callable[[Connection, Request, list[Any]], None]


def list_of_project(
    req: Request,
    filters: dict[str, Any],
    rule: str,
    *,
    rows: Callable[..., list[Any]],
    count: Callable[..., int] | None = None,
    load: Load | None = None,
    alone: bool = False,
) -> list[Any]:
    """List the rows of one project, or of all; see ``choose_project``.

    ``rows`` and ``count`` are queries of the resource type. ``load``: loads related data of the rows for the view.
    """
    project_id = choose_project(req, filters, rule, alone=alone)
    with req.ctx.db.reader() as conn:
        listed = rows(conn, filters, req.page, project_id=project_id)
        if count and filters.get('with_count'):
            req.count = count(conn, filters, project_id=project_id)
        if load:
            load(conn, req, listed)
    return listed


def loaded(req: Request, row: Any, load: Load) -> Any:
    """Return the row, after its related data was loaded for the view."""
    with req.ctx.db.reader() as conn:
        load(conn, req, [row])
    return row
