# SPDX-License-Identifier: Apache-2.0
"""Handlers for resource locks."""

from typing import Any

from manila_lite.actions import resource_locks as actions
from manila_lite.api.request import Request
from manila_lite.api.v2 import related
from manila_lite.db.queries import resource_locks
from manila_lite.policies import resource_locks as rules


def index(req: Request) -> list[Any]:
    """List resource locks, the newest first."""
    return related.list_of_project(
        req,
        dict(req.query),
        rules.GET_ALL_PROJECTS,
        rows=resource_locks.list_locks,
        count=resource_locks.count,
    )


def create(req: Request) -> Any:
    """Lock a share or an access rule."""
    return actions.create(req.ctx, req.body)


def show(req: Request) -> Any:
    """Show one resource lock."""
    with req.ctx.db.reader() as conn:
        return resource_locks.get(
            conn, req.params['resource_lock_id'], project_id=actions.visible_project(req.ctx)
        )


def update(req: Request) -> Any:
    """Change a resource lock."""
    return actions.update(req.ctx, req.params['resource_lock_id'], req.body)


def delete(req: Request) -> None:
    """Delete a resource lock."""
    actions.delete(req.ctx, req.params['resource_lock_id'])
