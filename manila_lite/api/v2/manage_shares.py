# SPDX-License-Identifier: Apache-2.0
"""Handlers to manage and unmanage shares and snapshots of a backend."""

from typing import Any

from manila_lite.actions import manage_shares as actions
from manila_lite.api.request import Request
from manila_lite.api.v2 import related


def first_path(value: Any) -> Any:
    """Return the path, or that of an export location, or of the first of a list: a share is found by any of its paths."""
    first = value[0] if isinstance(value, list) and value else value
    return first['path'] if isinstance(first, dict) else first


def manage(req: Request) -> Any:
    """Manage an existing share of a backend."""
    return related.loaded(req, actions.manage_share(req.ctx, req.body), related.load_for_shares)


def unmanage(req: Request) -> None:
    """Unmanage a share."""
    actions.unmanage_share(req.ctx, req.params['share_id'])


def unmanage_plain(req: Request) -> None:
    """Unmanage a share that is on no share server."""
    actions.unmanage_share(req.ctx, req.params['share_id'], on_servers=False)


def manage_snapshot(req: Request) -> Any:
    """Manage an existing snapshot of a share."""
    return _managed(req, on_servers=True)


def manage_plain_snapshot(req: Request) -> Any:
    """Manage an existing snapshot of a share that is on no share server."""
    return _managed(req, on_servers=False)


def _managed(req: Request, *, on_servers: bool) -> Any:
    row = actions.manage_snapshot(req.ctx, req.body, on_servers=on_servers)
    req.related['metadata'] = {}
    return row


def unmanage_snapshot(req: Request) -> None:
    """Unmanage a snapshot."""
    actions.unmanage_snapshot(req.ctx, req.params['snapshot_id'])


def unmanage_plain_snapshot(req: Request) -> None:
    """Unmanage a snapshot of a share that is on no share server."""
    actions.unmanage_snapshot(req.ctx, req.params['snapshot_id'], on_servers=False)
