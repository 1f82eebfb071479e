# SPDX-License-Identifier: Apache-2.0
"""Handlers for snapshot instances, for administrators."""

from typing import Any

from manila_lite.actions import snapshots as actions
from manila_lite.api.request import Request
from manila_lite.db.queries import snapshot_instances


def index(req: Request) -> list[Any]:
    """List the instances of all snapshots."""
    with req.ctx.db.reader() as conn:
        return snapshot_instances.list_instances(conn, req.ctx, req.query, req.page)


def detail(req: Request) -> list[Any]:
    """List the instances of all snapshots with details."""
    return index(req)


def show(req: Request) -> Any:
    """Show one snapshot instance."""
    with req.ctx.db.reader() as conn:
        return snapshot_instances.get(conn, req.ctx, req.params['snapshot_instance_id'])


def reset_status(req: Request) -> None:
    """Set the status of a snapshot instance."""
    actions.reset_status(req.ctx, show(req).snapshot_id, req.body['status'])
