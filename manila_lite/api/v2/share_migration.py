# SPDX-License-Identifier: Apache-2.0
"""Handlers for migrations of shares."""

from typing import Any

from manila_lite.actions import share_migration as actions
from manila_lite.api.request import Request


def start(req: Request) -> None:
    """Start the migration of a share."""
    if not actions.start(req.ctx, req.params['share_id'], req.body):
        req.ok = 200


def complete(req: Request) -> None:
    """Complete the migration of a share: the copy takes over."""
    actions.complete(req.ctx, req.params['share_id'])


def cancel(req: Request) -> None:
    """Cancel the migration of a share."""
    actions.cancel(req.ctx, req.params['share_id'])


def progress(req: Request) -> dict[str, Any]:
    """Show the progress of a share's migration."""
    return actions.progress(req.ctx, req.params['share_id'])


def progress_with_details(req: Request) -> dict[str, Any]:
    """Show the progress of a share's migration, with further figures in ``details``, too."""
    figures = progress(req)
    details = {name: value for name, value in figures.items() if name not in ('total_progress', 'task_state')}
    return {**figures, 'details': {name: value for name, value in details.items() if value is not None}}
