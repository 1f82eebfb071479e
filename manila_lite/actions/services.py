# SPDX-License-Identifier: Apache-2.0
"""Actions on services."""

from collections.abc import Iterable
from typing import Any

from manila_lite import errors
from manila_lite.context import RequestContext
from manila_lite.db.core.engine import Row
from manila_lite.db.queries import services
from manila_lite.workflow import ensure as runs
from manila_lite.workflow import evacuation


def set_disabled(
    ctx: RequestContext, host: str, binary: str, *, disabled: bool, reason: str | None = None
) -> Row[Any]:
    """Disable a service, so that it gets no new shares, or enable it. Existing shares stay served. Return its row.

    :raises errors.NotFound: there is no service of that host and binary.
    """
    with ctx.db.writer() as conn:
        services.set_disabled(conn, host, binary, disabled, reason if disabled else None)
        return services.get(conn, host, binary)


def ensure_shares(
    ctx: RequestContext,
    host: str,
    *,
    share_id: str | None = None,
    share_server_id: str | None = None,
    dry_run: bool = False,
) -> str:
    """Begin to check and repair the shares of the backend or of the pool ``host``, of a share server, or one share. Return
    the id of the operation. ``dry_run``: only list the repairs that are due.

    :raises errors.NotFound: there is no such backend, or no such part of it.
    :raises errors.Conflict: it cannot be done now.
    """
    host, pool = runs.backend_and_pool(host)
    if len([part for part in (share_id, share_server_id, pool) if part]) > 1:
        raise errors.Invalid(
            'share_id: only one of share_id, share_server_id and a pool in host can be given.'
        )
    return runs.request(ctx, host, runs.Part(share_id, share_server_id, pool, dry_run))


def evacuate(ctx: RequestContext, host: str, *, destinations: Iterable[str] = (), **wish: Any) -> str:
    """Begin to move everything off a backend or off all backends of a host. Return the id of the operation.

    ``wish``: as the fields of ``workflow.evacuation.Wish``.

    :raises errors.NotFound: there is no such backend or host.
    :raises errors.Invalid: ``host`` names a pool, or a destination is not known or on the host itself.
    :raises errors.Conflict: the host, or one of its backends, is being evacuated already.
    """
    return evacuation.request(ctx, host, evacuation.Wish(to=tuple(destinations), **wish))


def stop_evacuation(ctx: RequestContext, host: str) -> None:
    """End the evacuation of a backend or host. Migrations that are under way go on.

    :raises errors.NotFound: there is none.
    """
    evacuation.stop(ctx, host)
