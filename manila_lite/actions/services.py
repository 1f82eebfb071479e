# SPDX-License-Identifier: Apache-2.0
"""What an administrator may do with services."""

from typing import Any

from manila_lite.context import RequestContext
from manila_lite.db import services


def set_disabled(ctx: RequestContext, host: str, binary: str, *, disabled: bool, reason: str | None = None) -> Any:
    """The service gets no new shares (``disabled``), or does again; what it has stays served. Returns its row.

    :raises errors.NotFound: there is none of that host and binary.
    """
    with ctx.db.writer() as conn:
        services.set_disabled(conn, host, binary, disabled, reason if disabled else None)
        return services.get(conn, host, binary)
