# SPDX-License-Identifier: Apache-2.0
"""Handlers for services, for administrators."""

from typing import Any

from manila_lite.actions import services as actions
from manila_lite.api.request import Request
from manila_lite.db.queries import services

#: The header of an answer that names the operation which the request began: an addition to Manila's API.
OPERATION = 'Operation-Id'


def state_of(row: Any, req: Request) -> str:
    """Read whether the service is up."""
    return 'up' if services.is_up(row, req.ctx.conf.service_down_time) else 'down'


def status_of(row: Any, req: Request) -> str:
    """Read whether the service gets new shares."""
    return 'disabled' if row.disabled else 'enabled'


def release_of(row: Any, req: Request) -> str | None:
    """Read the release that the service runs."""
    return services.release_of(row)


def index(req: Request) -> list[Any]:
    """List services."""
    filters = dict(req.query)
    state, status = filters.pop('state', None), filters.pop('status', None)
    with req.ctx.db.reader() as conn:
        rows = services.list_services(conn, filters)
    # The state depends on the clock. There are few services, so both filters are applied here.
    return [
        row for row in rows if state in (None, state_of(row, req)) and status in (None, status_of(row, req))
    ]


def ensure(req: Request) -> None:
    """Check and repair all shares of a backend."""
    req.headers[OPERATION] = actions.ensure_shares(req.ctx, **req.body)


def ensure_shares(req: Request) -> None:
    """Check and repair all shares of a backend, under the path that clients use."""
    ensure(req)


def evacuate(req: Request) -> None:
    """Move everything off a backend or a host, or make the plan for it."""
    req.headers[OPERATION] = actions.evacuate(req.ctx, **req.body)


def stop_evacuation(req: Request) -> None:
    """Stop an evacuation: begin no more migrations."""
    actions.stop_evacuation(req.ctx, req.body['host'])


def enable(req: Request) -> Any:
    """Enable a service, so that it gets new shares again."""
    return actions.set_disabled(req.ctx, req.body['host'], req.body['binary'], disabled=False)


def disable(req: Request) -> Any:
    """Disable a service, so that it gets no new shares."""
    return actions.set_disabled(
        req.ctx, req.body['host'], req.body['binary'], disabled=True, reason=req.body.get('disabled_reason')
    )
