# SPDX-License-Identifier: Apache-2.0
"""Handlers for the recycle bin."""

from manila_lite.actions import share_bin as actions
from manila_lite.api.request import Request


def soft_delete(req: Request) -> None:
    """Put a share into the recycle bin."""
    actions.soft_delete(req.ctx, req.params['share_id'])


def restore(req: Request) -> None:
    """Take a share out of the recycle bin; 200 means that it was not in it."""
    if not actions.restore(req.ctx, req.params['share_id']):
        req.ok = 200
