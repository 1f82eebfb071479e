# SPDX-License-Identifier: Apache-2.0
"""Beginning of runs that ensure all shares of a backend: one at a time for each backend, whoever asked for it."""

import dataclasses
from collections.abc import Callable
from typing import Any

from manila_lite import context, errors
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import ensure, operations, services
from manila_lite.engine.begin import Wake, begin, begin_once
from manila_lite.engine.plans import EXCLUSIVE
from manila_lite.operation_data.ensure import API, EnsureShares


@dataclasses.dataclass(frozen=True)
class Part:
    """The part of a backend that a run is for: one share, or those of a share server or a pool. Without values: all.

    ``dry_run``: only list the repairs that are due.
    """

    share_id: str | None = None
    share_server_id: str | None = None
    pool: str | None = None
    dry_run: bool = False


def backend_and_pool(host: str, field: str = 'host') -> tuple[str, str | None]:
    """Return the backend of ``host@backend`` or ``host@backend#pool``, and the pool. ``field``: of the request.

    :raises errors.Invalid: the name of the pool is empty.
    """
    backend, separator, pool = host.partition('#')
    if separator and not pool:
        raise errors.Invalid(f'{field}: {host} names no pool after the #.')
    return backend, pool or None


def request(ctx: context.RequestContext, host: str, part: Part) -> str:
    """Begin a run that an administrator wants. Return the id of its operation.

    :raises errors.NotFound: there is no such backend, or no such share, share server or pool on it.
    :raises errors.Conflict: the backend is down or disabled, or its shares are being ensured already; or, with
        ``ensure_shares_strict``, some shares are not available.
    """
    with ctx.db.writer() as conn:
        # First of all: of two concurrent requests the second sees the run of the first.
        services.set_ensuring(conn, host, True)
        service = services.get(conn, host, 'manila-share')
        if not services.is_up(service, ctx.conf.service_down_time):
            raise errors.Conflict(f'Service manila-share on host {host} is down.', code='service_down')
        if service.disabled:
            raise errors.Conflict(
                f'Service manila-share on host {host} is disabled.', code='service_disabled'
            )
        if operations.is_open(conn, ensure.unique_key(host)):
            raise errors.Conflict(
                f'The shares on host {host} are being ensured already.', code='already_ensuring'
            )
        busy = ensure.count_shares(conn, host, without=('available',)) if ctx.conf.ensure_shares_strict else 0
        if busy:
            raise errors.Conflict(
                f'Host {host} has {errors.count(busy, "share")} not available.', code='shares_not_available'
            )
        return ask(conn, ctx, service, _narrow(conn, host, part)).operation_id


def _narrow(conn: Connection, host: str, part: Part) -> EnsureShares:
    """Return the data of a run for a part of the backend.

    :raises errors.NotFound: the backend has no such part.
    """
    data = EnsureShares(why=API, dry_run=part.dry_run)
    if not (part.share_id or part.share_server_id or part.pool):
        return data
    rows = ensure.list_part(
        conn, host, share_id=part.share_id, share_server_id=part.share_server_id, pool=part.pool
    )
    if not rows:
        missing = {
            f'Share {part.share_id} is not': part.share_id,
            f'No share in pool {part.pool} is': part.pool,
            f'No share of share server {part.share_server_id} is': part.share_server_id,
        }
        raise errors.NotFound(f'{next(text for text, wanted in missing.items() if wanted)} on host {host}.')
    return dataclasses.replace(
        data,
        narrow=True,
        only=sorted(row.id for row in rows),
        server_ids=sorted({row.share_server_id for row in rows if row.share_server_id}),
    )


def ask(conn: Connection, ctx: context.RequestContext, service: Any, data: EnsureShares) -> Wake:
    """Begin a run that ensures shares of a backend, and return its wake-up.

    ``service`` is the row of the backend's service, which the caller held first of all (``db.services.set_ensuring``).
    """
    return _begin_by(begin, conn, ctx, service, data)


def _begin_by(
    way: Callable[..., Wake], conn: Connection, ctx: context.RequestContext, service: Any, data: EnsureShares
) -> Wake:
    return way(
        conn,
        ctx,
        ensure.KIND,
        'service',
        str(service.id),
        topic='share',
        host=service.host,
        lane=EXCLUSIVE,
        unique_key=ensure.unique_key(service.host),
        data=data,
    )


def ask_once(
    conn: Connection,
    ctx: context.RequestContext,
    host: str,
    why: str,
    only: list[str] | None = None,
    heal: list[str] | None = None,
) -> Wake:
    """Begin a run as ``ask`` does, or have the open one run again.

    For a new run, ``only`` are the ids of its instances, and ``heal`` those of share servers to set to active if they run.
    """
    services.set_ensuring(conn, host, True)
    service = services.get(conn, host, 'manila-share')
    return _begin_by(begin_once, conn, ctx, service, EnsureShares(why=why, only=only, heal=heal or []))
