# SPDX-License-Identifier: Apache-2.0
"""Handlers for migrations of share servers."""

from typing import Any

from manila_lite.actions import server_migration as actions
from manila_lite.api.request import Request


def check(req: Request) -> dict[str, Any]:
    """Check whether a share server could migrate to a host."""
    return actions.check(req.ctx, req.params['share_server_id'], req.body)


def start(req: Request) -> None:
    """Start the migration of a share server."""
    actions.start(req.ctx, req.params['share_server_id'], req.body)


def complete(req: Request) -> dict[str, str]:
    """Complete the migration of a share server: the copy takes over."""
    return {'destination_share_server_id': actions.complete(req.ctx, req.params['share_server_id'])}


def cancel(req: Request) -> None:
    """Cancel the migration of a share server."""
    actions.cancel(req.ctx, req.params['share_server_id'])


def progress(req: Request) -> dict[str, Any]:
    """Show the progress of a share server's migration."""
    return actions.progress(req.ctx, req.params['share_server_id'])


def reset_task_state(req: Request) -> None:
    """Set the task state of a share server."""
    actions.reset_task_state(req.ctx, req.params['share_server_id'], req.body.get('task_state'))
