# SPDX-License-Identifier: Apache-2.0
"""Handlers for availability zones."""

from typing import Any

from manila_lite.api.request import Request
from manila_lite.db.queries import services


def index(req: Request) -> list[Any]:
    """List the zones that have a backend."""
    with req.ctx.db.reader() as conn:
        return services.list_zones(conn)
