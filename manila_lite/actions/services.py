# SPDX-License-Identifier: Apache-2.0
"""Actions on services."""


from typing import Any

from manila_lite import errors
from manila_lite.context import RequestContext
from manila_lite.db.core.engine import Row
from manila_lite.db.queries import services
from manila_lite.workflow import ensure as runs


def set_disabled(ctx: RequestContext, host: str, binary: str, *, disabled: bool, reason: str | None = None) -> Row[Any]:
    """Disable a service, so that it gets no new shares, or enable it. Existing shares stay served. Return its row.

    :raises errors.NotFound: there is no service of that host and binary.
    """
    with ctx.db.writer() as conn:
        services.set_disabled(conn, host, binary, disabled, reason if disabled else None)
        return services.get(conn, host, binary)


def ensure_shares(ctx: RequestContext, host: str, *, share_id: str | None = None, share_server_id: str | None = None,
                  dry_run: bool = False) -> str:
    """Begin to check and repair the shares of the backend or of the pool ``host``, of a share server, or one share. Return
    the id of the operation. ``dry_run``: only list the repairs that are due.

    :raises errors.NotFound: there is no such backend, or no such part of it.
    :raises errors.Conflict: it cannot be done now.
    """
    host, _, pool = host.partition('#')
    if len([part for part in (share_id, share_server_id, pool) if part]) > 1:
        raise errors.Invalid('share_id: only one of share_id, share_server_id and a pool in host can be given.')
    return runs.request(ctx, host, runs.Part(share_id, share_server_id, pool or None, dry_run))
