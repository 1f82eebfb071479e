# SPDX-License-Identifier: Apache-2.0
"""Migration of share servers over HTTP."""

from typing import Any

from manila_lite.actions import server_migration as actions
from manila_lite.api.request import Request


def check(req: Request) -> dict[str, Any]:
    """Ask whether a share server could move."""
    return actions.check(req.ctx, req.params['share_server_id'], req.body)


def start(req: Request) -> None:
    """Begin to copy a share server to another backend."""
    actions.start(req.ctx, req.params['share_server_id'], req.body)


def complete(req: Request) -> dict[str, str]:
    """Let the copy take over."""
    return {'destination_share_server_id': actions.complete(req.ctx, req.params['share_server_id'])}


def cancel(req: Request) -> None:
    """Call the migration off."""
    actions.cancel(req.ctx, req.params['share_server_id'])


def progress(req: Request) -> dict[str, Any]:
    """Show how far the migration is."""
    return actions.progress(req.ctx, req.params['share_server_id'])


def reset_task_state(req: Request) -> None:
    """Set the task state by hand."""
    actions.reset_task_state(req.ctx, req.params['share_server_id'], req.body.get('task_state'))
