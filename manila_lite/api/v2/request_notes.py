# SPDX-License-Identifier: Apache-2.0
"""The handler for notes of slow and failed requests."""

from typing import Any

from manila_lite.api.request import Request
from manila_lite.db.queries import request_notes


def index(req: Request) -> list[Any]:
    """List slow requests and errors of the service of the last hour, the newest first."""
    with req.ctx.db.reader() as conn:
        return request_notes.list_notes(conn, req.query, req.page)
