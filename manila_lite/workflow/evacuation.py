# SPDX-License-Identifier: Apache-2.0
"""Beginning and end of evacuations: everything on a backend, or on all backends of a host, moves elsewhere."""

import dataclasses
from typing import Any

from oslo_utils import timeutils

from manila_lite import context, errors
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import evacuation, operations, services
from manila_lite.engine.begin import begin
from manila_lite.engine.plans import WORK
from manila_lite.operation_data.evacuation import Evacuate
from manila_lite.rpc import notifications
from manila_lite.workflow.ensure import backend_and_pool

#: Migrations that an evacuation runs at once, unless the request says otherwise.
AT_ONCE = 4
MOST_AT_ONCE = 100
#: The error code of an evacuation that an administrator stopped.
STOPPED = 'evacuation_stopped'
#: Why the backend gets no new shares. An evacuation that is stopped leaves it so.
_REASON = 'evacuated'
_WHY_STOPPED = 'An administrator stopped the evacuation.'


@dataclasses.dataclass(frozen=True, kw_only=True)
class Wish:
    """The options of an evacuation.

    ``to``: hosts, backends or pools that may be destinations; all, if empty. ``any_zone``: also those in other zones.
    ``writable``, ``nondisruptive``: only move what clients can write to meanwhile, or what they do not notice at all.
    ``by_host``: the host of a destination copies what its driver cannot move. ``dry_run``: only make the plan.
    """

    to: tuple[str, ...] = ()
    any_zone: bool = False
    writable: bool = False
    nondisruptive: bool = False
    by_host: bool = False
    at_once: int = AT_ONCE
    dry_run: bool = False


def request(ctx: context.RequestContext, host: str, wish: Wish) -> str:
    """Begin an evacuation, or its plan alone. Return the id of its operation. The backends get no new shares from now on.

    :raises errors.NotFound: there is no such backend or host.
    :raises errors.Invalid: ``host`` names a pool, or a destination is not known or on the host itself.
    :raises errors.Conflict: the host, or one of its backends, is being evacuated already.
    """
    with ctx.db.writer() as conn:
        backends = _backends(conn, host)
        for place in wish.to:
            _must_be_elsewhere(conn, host, place)
        if not wish.dry_run:
            _must_not_run(conn, host)
            for service in backends:
                if not service.disabled:
                    services.set_disabled(conn, service.host, 'manila-share', True, _REASON)
        data = Evacuate(
            **dataclasses.asdict(wish) | {'to': list(wish.to)},
            host=host,
            began=timeutils.utcnow_ts(microsecond=True),
        )
        wake = begin(
            conn,
            ctx,
            evacuation.KIND,
            'service',
            str(backends[0].id),
            topic='scheduler',
            lane=WORK,
            data=data,
            unique_key=None if wish.dry_run else evacuation.unique_key(host),
        )
        if not wish.dry_run:
            announce(ctx, data, 'start')
    return wake.operation_id


def _backends(conn: Connection, host: str) -> list[Any]:
    """Return the services of the backend, or of all backends of the host.

    :raises errors.Invalid: it is a pool.
    :raises errors.NotFound: there are none.
    """
    if '#' in host:
        raise errors.Invalid(f'host: {host} is a pool; give a backend (host@backend) or a host.')
    rows = [
        row
        for row in services.list_services(conn, {'binary': 'manila-share'})
        if host in (row.host, row.host.partition('@')[0])
    ]
    if not rows:
        raise errors.NotFound(
            f'There is no backend {host}, and no host of this name with backends.', code='service_not_found'
        )
    return rows


def _must_be_elsewhere(conn: Connection, host: str, place: str) -> None:
    backends = {service.host for service in _backends(conn, backend_and_pool(place, 'destinations')[0])}
    if all(host in (backend, backend.partition('@')[0]) for backend in backends):
        raise errors.Invalid(f'destinations: {place} is on {host}, which is to be empty.')


def _must_not_run(conn: Connection, host: str) -> None:
    if op := evacuation.current(conn, host):
        raise errors.Conflict(
            f'{Evacuate.from_json(op.data).host} is being evacuated already (operation {op.id}).',
            code='already_evacuating',
        )


def stop(ctx: context.RequestContext, host: str) -> None:
    """End the evacuation of the backend or host. Migrations that it began go on; the backends stay disabled.

    :raises errors.NotFound: there is none.
    """
    with ctx.db.writer() as conn:
        op = evacuation.current(conn, host)
        data = Evacuate.from_json(op.data) if op is not None else None
        if (
            op is None
            or data is None
            or data.host != host
            or not operations.call_off(conn, op, _WHY_STOPPED, STOPPED)
        ):
            raise errors.NotFound(f'{host} is not being evacuated.', code='not_evacuating')
        announce(ctx, data, 'error', _WHY_STOPPED)


def announce(ctx: context.RequestContext, data: Evacuate, event: str, error: str | None = None) -> None:
    """Emit the notification that an evacuation, with this data of its operation, began, ended or failed."""
    total = data.progress.total
    payload = {
        'host': data.host,
        'to': data.to,
        'at_once': data.at_once,
        'done': None if total is None else data.progress.done,
        'total': total,
    }
    notifications.emit(ctx, f'host.evacuate.{event}', payload | ({'error': error} if error else {}))
