# SPDX-License-Identifier: Apache-2.0
"""Handlers for quota classes. The limits of the class ``default`` apply to every project."""

from typing import Any

from manila_lite.actions import quotas as actions
from manila_lite.api.request import Request
from manila_lite.db.queries import quotas


def show(req: Request) -> dict[str, Any]:
    """Show the limits of a quota class."""
    name = req.params['class_name']
    with req.ctx.db.reader() as conn:
        return {'id': name, **quotas.class_limits(conn, req.ctx.conf, name)}


def update(req: Request) -> dict[str, Any]:
    """Set limits of a quota class."""
    values = {
        key: value for key, value in req.body.items() if value is not None and key not in ('class_name', 'id')
    }
    return actions.update_class(req.ctx, req.params['class_name'], values)
