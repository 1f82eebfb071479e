# SPDX-License-Identifier: Apache-2.0
"""Handlers for share group snapshots: from the parsed request to an action or a query, and back."""

from collections.abc import Sequence
from typing import Any

from manila_lite.actions import share_group_snapshots as actions
from manila_lite.api.request import Request
from manila_lite.api.v2 import related
from manila_lite.api.v2.row_calls import RowCalls
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import share_group_snapshots
from manila_lite.policies import share_group_snapshots as rules

#: Columns of a member's row that are shown unchanged.
_AS_IT_IS = (
    'id',
    'share_group_snapshot_id',
    'share_id',
    'name',
    'project_id',
    'size',
    'share_proto',
    'created_at',
)


def members_of(row: Any, req: Request) -> list[dict[str, Any]]:
    """Read the members, loaded for all rows at once. Protocol and size are shown under two names each."""
    return [
        {
            **{name: getattr(member, name) for name in _AS_IT_IS},
            'share_protocol': member.share_proto,
            'share_size': member.size,
            'status': row.status,
        }
        for member in req.related['members'].get(row.id, [])
    ]


def _load(conn: Connection, req: Request, rows: Sequence[Any]) -> None:
    req.related['members'] = share_group_snapshots.members_of(conn, [row.id for row in rows])


def index(req: Request) -> list[Any]:
    """List ids and names of share group snapshots."""
    return _list(req)


def detail(req: Request) -> list[Any]:
    """List share group snapshots with details."""
    return _list(req, load=_load)


def _list(req: Request, load: related.Load | None = None) -> list[Any]:
    return related.list_of_project(
        req, dict(req.query), rules.LIST_ALL_PROJECTS, rows=share_group_snapshots.list_snapshots, load=load
    )


#: Calls that need no shaping.
ROWS = RowCalls(
    'share_group_snapshots',
    'share group snapshot',
    'share_group_snapshot_id',
    actions,
    share_group_snapshots.get,
    _load,
)


def members(req: Request) -> list[dict[str, Any]]:
    """List the members of a share group snapshot, one for each share."""
    return members_of(ROWS.show(req), req)


def create(req: Request) -> Any:
    """Take a snapshot of a share group."""
    return related.loaded(req, actions.create(req.ctx, req.body), _load)
