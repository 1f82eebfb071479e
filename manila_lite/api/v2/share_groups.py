# SPDX-License-Identifier: Apache-2.0
"""Handlers for share groups: from the parsed request to an action or a query, and back."""

from collections.abc import Sequence
from typing import Any

from manila_lite.actions import share_groups as actions
from manila_lite.api.request import Request
from manila_lite.api.v2 import related
from manila_lite.api.v2.row_calls import RowCalls
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import share_groups
from manila_lite.policies import share_groups as rules


def share_types_of(row: Any, req: Request) -> list[str]:
    """Read the ids of the group's share types, loaded for all rows at once."""
    ids: list[str] = req.related['share_types'].get(row.id, [])
    return ids


def _load(conn: Connection, req: Request, rows: Sequence[Any]) -> None:
    req.related['share_types'] = share_groups.share_types_of(conn, [row.id for row in rows])


def index(req: Request) -> list[Any]:
    """List ids and names of share groups."""
    return _list(req)


def detail(req: Request) -> list[Any]:
    """List share groups with details."""
    return _list(req, load=_load)


def _list(req: Request, load: related.Load | None = None) -> list[Any]:
    return related.list_of_project(
        req, dict(req.query), rules.LIST_ALL_PROJECTS, rows=share_groups.list_groups, load=load
    )


#: Calls that need no shaping.
ROWS = RowCalls('share_groups', 'share group', 'share_group_id', actions, share_groups.get, _load)
