# SPDX-License-Identifier: Apache-2.0
"""Migration of shares over HTTP."""

from typing import Any

from manila_lite.actions import share_migration as actions
from manila_lite.api.request import Request


def start(req: Request) -> None:
    """Begin to copy a share to another backend."""
    actions.start(req.ctx, req.params['share_id'], req.body)


def complete(req: Request) -> None:
    """Let the copy take the place of the share."""
    actions.complete(req.ctx, req.params['share_id'])


def cancel(req: Request) -> None:
    """Call the migration off."""
    actions.cancel(req.ctx, req.params['share_id'])


def progress(req: Request) -> dict[str, Any]:
    """Show how far the migration is."""
    return actions.progress(req.ctx, req.params['share_id'])


def progress_before(req: Request) -> dict[str, Any]:
    """Show how far the migration is, without its task state."""
    found = actions.progress(req.ctx, req.params['share_id'])
    return {name: value for name, value in found.items() if name != 'task_state'}
