# SPDX-License-Identifier: Apache-2.0
"""Actions on services."""


from typing import Any

from manila_lite import errors
from manila_lite.context import RequestContext
from manila_lite.db.core.engine import Row
from manila_lite.db.queries import ensure, operations, services
from manila_lite.engine import backend_of
from manila_lite.workflow import ensure as runs


def set_disabled(ctx: RequestContext, host: str, binary: str, *, disabled: bool, reason: str | None = None) -> Row[Any]:
    """Disable a service, so that it gets no new shares, or enable it. Existing shares stay served. Return its row.

    :raises errors.NotFound: there is no service of that host and binary.
    """
    with ctx.db.writer() as conn:
        services.set_disabled(conn, host, binary, disabled, reason if disabled else None)
        return services.get(conn, host, binary)


def ensure_shares(ctx: RequestContext, host: str) -> str:
    """Begin to check and repair all shares of the backend ``host``. A pool name in ``host`` is ignored. Return the id of
    the operation.

    :raises errors.NotFound: there is no such backend.
    :raises errors.Conflict: the backend is down or disabled, or its shares are being ensured already; or, with
        ``ensure_shares_strict``, some shares are not available.
    """
    host = backend_of(host)
    with ctx.db.writer() as conn:
        # First of all: of two concurrent requests the second sees the run of the first.
        services.set_ensuring(conn, host, True)
        service = services.get(conn, host, 'manila-share')
        if not services.is_up(service.heartbeat_at, service.stopped, ctx.conf.service_down_time):
            raise errors.Conflict(f'Service manila-share on host {host} is down.', code='service_down')
        if service.disabled:
            raise errors.Conflict(f'Service manila-share on host {host} is disabled.', code='service_disabled')
        if operations.is_open(conn, ensure.open_key(host)):
            raise errors.Conflict(f'The shares on host {host} are being ensured already.', code='already_ensuring')
        busy = ensure.count_unavailable_shares(conn, host) if ctx.conf.ensure_shares_strict else 0
        if busy:
            raise errors.Conflict(f'{busy} shares on host {host} are not available.', code='shares_not_available')
        wake = runs.ask(conn, ctx, service, 'api')
    wake.send(ctx)
    return wake.operation_id
