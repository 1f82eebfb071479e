# SPDX-License-Identifier: Apache-2.0
"""Handlers for snapshots: from the parsed request to an action or a query, and back."""

from typing import Any

from manila_lite.actions import snapshots as actions
from manila_lite.api.request import Request
from manila_lite.api.v2 import related
from manila_lite.api.v2.row_calls import RowCalls
from manila_lite.db import models
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import snapshots
from manila_lite.policies import snapshots as rules

# Lists ------------------------------------------------------------------------------------------


def index(req: Request) -> list[Any]:
    """List ids and names of snapshots."""
    return _list(req)


def detail(req: Request) -> list[Any]:
    """List snapshots with details."""
    return _list(req, load=_load)


def _list(req: Request, load: related.Load | None = None) -> list[Any]:
    filters = {**req.query, 'deferred': req.may(rules.LIST_DELETED)}
    return related.list_of_project(
        req, filters, rules.LIST_ALL_PROJECTS, rows=snapshots.list_snapshots, count=snapshots.count, load=load
    )


def _load(conn: Connection, req: Request, rows: list[Any]) -> None:
    related.load_pairs(conn, req, models.snapshot_metadata, rows)


# One snapshot -----------------------------------------------------------------------------------

#: Calls that need no shaping.
ROWS = RowCalls('snapshots', 'snapshot', 'snapshot_id', actions, snapshots.get, _load)


def create(req: Request) -> Any:
    """Take a snapshot."""
    row, metadata = actions.create(req.ctx, req.body)
    req.related['metadata'] = {row.id: metadata}
    return row
