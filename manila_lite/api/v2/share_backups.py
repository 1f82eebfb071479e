# SPDX-License-Identifier: Apache-2.0
"""Handlers for share backups: from the parsed request to an action or a query, and back."""

from typing import Any

from manila_lite.actions import share_backups as actions
from manila_lite.api.request import Request
from manila_lite.api.v2 import related
from manila_lite.api.v2.row_calls import RowCalls
from manila_lite.db.queries import share_backups
from manila_lite.policies import share_backups as rules


def _list(req: Request) -> list[Any]:
    """List share backups, in either form."""
    return related.list_of_project(
        req,
        dict(req.query),
        rules.GET_ALL_PROJECTS,
        rows=share_backups.list_backups,
        count=share_backups.count,
    )


def index(req: Request) -> list[Any]:
    """List ids, names and statuses of share backups."""
    return _list(req)


def detail(req: Request) -> list[Any]:
    """List share backups with details."""
    return _list(req)


#: Calls that need no shaping.
ROWS = RowCalls('share_backups', 'share backup', 'backup_id', actions, share_backups.get)


def create(req: Request) -> Any:
    """Back up a share."""
    return actions.create(req.ctx, req.body)


def restore(req: Request) -> dict[str, Any]:
    """Restore a backup to its share."""
    return _restored(actions.restore(req.ctx, req.params['backup_id']))


def restore_to(req: Request) -> dict[str, Any]:
    """Restore a backup to its share, or to the share whose id is in the body, with or without a key."""
    wanted = req.body.get('target_share_id') if isinstance(req.body, dict) else req.body
    return _restored(actions.restore(req.ctx, req.params['backup_id'], wanted or None))


def _restored(row: Any) -> dict[str, Any]:
    return {'backup_id': row.id, 'share_id': row.target_share_id}
