# SPDX-License-Identifier: Apache-2.0
"""Handler for limits: the quotas of the caller's project and their usage."""

from typing import Any

from manila_lite.actions import quotas as actions
from manila_lite.api.request import Request


def show(req: Request) -> dict[str, Any]:
    """Show limits and usage."""
    with req.ctx.db.reader() as conn:
        return actions.detail(conn, req.ctx, actions.Scope(req.ctx.project_id or ''))
