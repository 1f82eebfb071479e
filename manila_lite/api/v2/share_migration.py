# SPDX-License-Identifier: Apache-2.0
"""Migration of shares over HTTP."""

from typing import Any

from manila_lite.actions import share_migration as actions
from manila_lite.api.request import Request


def start(req: Request) -> None:
    """Begin to copy a share to another backend."""
    actions.start(req.ctx, req.params['share_id'], req.body)


def start_once(req: Request) -> None:
    """Begin to copy a share to another backend, as before 2.22; it moves over as soon as it is copied, unless
    ``notify`` is off."""
    asked = {'host': req.body['host'], 'force_host_assisted_migration': req.body.get('force_host_copy')}
    actions.start(req.ctx, req.params['share_id'], asked, by_itself=req.body.get('notify') is not False)


def complete(req: Request) -> None:
    """Let the copy take the place of the share."""
    actions.complete(req.ctx, req.params['share_id'])


def cancel(req: Request) -> None:
    """Call the migration off."""
    actions.cancel(req.ctx, req.params['share_id'])


def progress(req: Request) -> dict[str, Any]:
    """Show how far the migration is."""
    return actions.progress(req.ctx, req.params['share_id'])


def progress_with_details(req: Request) -> dict[str, Any]:
    """Show how far the migration is; what is known beyond the usual stands in ``details``, too."""
    found = progress(req)
    known = {name: value for name, value in found.items() if name not in ('total_progress', 'task_state')}
    return {**found, 'details': {name: value for name, value in known.items() if value is not None}}
