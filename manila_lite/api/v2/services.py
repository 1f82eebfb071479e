# SPDX-License-Identifier: Apache-2.0
"""The calls for services."""

from typing import Any

from manila_lite.actions import services as actions
from manila_lite.api.framework import shapes
from manila_lite.api.framework.bodies import Bare, Either
from manila_lite.api.framework.call import Call, Field, Many, View
from manila_lite.api.framework.handlers import act, field, optional
from manila_lite.api.request import Request
from manila_lite.db.queries import services
from manila_lite.workflow.evacuation import MOST_AT_ONCE

#: The header of an answer that names the operation which the request began: an addition to Manila's API.
OPERATION = 'Operation-Id'


def state_of(row: Any, req: Request) -> str:
    """Read whether the service is up."""
    return 'up' if services.is_up(row, req.ctx.conf.service_down_time) else 'down'


def status_of(row: Any, req: Request) -> str:
    """Read whether the service gets new shares."""
    return 'disabled' if row.disabled else 'enabled'


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


# Fields and calls -------------------------------------------------------------------------------

_STATE = {'type': 'string', 'enum': ['up', 'down']}
_STATUS = {'type': 'string', 'enum': ['enabled', 'disabled']}

SERVICE = View(
    'service',
    'services',
    (
        Field('id', {'type': 'integer'}),
        Field('binary', shapes.STRING),
        Field('host', shapes.STRING),
        Field('zone', shapes.NULL_STRING),
        Field('status', _STATUS, read=status_of),
        Field('state', _STATE, read=state_of),
        Field('updated_at', shapes.NULL_TIME, read='heartbeat_at'),
        Field('disabled_reason', shapes.NULL_STRING, since='2.83'),
        Field('ensuring', shapes.BOOLEAN, since='2.86'),
        # An addition to Manila's API, at every version.
        Field('release', shapes.NULL_STRING, read=lambda row, req: services.release_of(row)),
    ),
)

SET = View(
    'service',
    'services',
    (
        Field('host', shapes.STRING),
        Field('binary', shapes.STRING),
        Field('disabled', shapes.BOOLEAN, until='2.82'),
        Field('status', _STATUS, since='2.83', read=status_of),
        Field('disabled_reason', shapes.NULL_STRING, since='2.83'),
    ),
)


def _lower(value: Any) -> str:
    return str(value).lower()


#: A state or status that no service can have is one that none has.
FILTERS = (
    Field('host', shapes.STRING),
    Field('binary', shapes.STRING),
    Field('zone', shapes.STRING),
    Field('state', shapes.STRING, parse=_lower),
    Field('status', shapes.STRING, parse=_lower),
    Field('ensuring', shapes.FLAG, parse=shapes.flag, since='2.93'),
)


_WHICH = (Field('host', shapes.TEXT, required=True), Field('binary', shapes.TEXT, required=True))
#: All but the host are an addition to Manila's API.
_WHERE = (
    Field('host', shapes.TEXT, required=True),
    Field('share_id', shapes.ID),
    Field('share_server_id', shapes.ID),
    Field('dry_run', shapes.BOOLEAN),
)
_PLACE = {'type': 'string', 'minLength': 1, 'maxLength': 255}
_OFF = (
    Field('host', shapes.TEXT, required=True),
    Field('dry_run', shapes.BOOLEAN),
    Field('at_once', {'type': 'integer', 'minimum': 1, 'maximum': MOST_AT_ONCE}),
    Field('destinations', {'type': 'array', 'items': _PLACE, 'maxItems': 1000}),
    Field('any_zone', shapes.BOOLEAN),
    Field('writable', shapes.BOOLEAN),
    Field('nondisruptive', shapes.BOOLEAN),
    Field('by_host', shapes.BOOLEAN),
)
_REASON = Field('disabled_reason', {'type': ['string', 'null'], 'maxLength': 255}, since='2.83')

CALLS = [
    Call('GET', '/services', index, 'service:index', Many(SERVICE), old_path='/os-services', query=FILTERS),
    Call(
        'PUT',
        '/services/enable',
        act(
            'Enable a service, so that it gets new shares again.',
            actions.set_disabled,
            field('host'),
            field('binary'),
            name='enable',
            disabled=False,
        ),
        'service:update',
        SET,
        old_path='/os-services/enable',
        body=Bare('service', _WHICH),
    ),
    Call(
        'PUT',
        '/services/disable',
        act(
            'Disable a service, so that it gets no new shares.',
            actions.set_disabled,
            field('host'),
            field('binary'),
            name='disable',
            disabled=True,
            reason=optional('disabled_reason'),
        ),
        'service:update',
        SET,
        old_path='/os-services/disable',
        body=Bare('service', (*_WHICH, _REASON)),
    ),
    *(
        Call(
            'POST',
            path,
            handler,
            'service:ensure_shares',
            ok=202,
            since='2.86',
            body=Either('ensure_shares', _WHERE, strict=True),
            headers=(OPERATION,),
        )
        for path, handler in (('/services/ensure', ensure), ('/services/ensure-shares', ensure_shares))
    ),
    # An addition to Manila's API, at every version.
    Call(
        'POST',
        '/services/evacuate',
        evacuate,
        'service:evacuate',
        ok=202,
        body=Bare('evacuate', _OFF, strict=True),
        headers=(OPERATION,),
    ),
    Call(
        'POST',
        '/services/stop-evacuation',
        act('Stop an evacuation: begin no more migrations.', actions.stop_evacuation, field('host')),
        'service:evacuate',
        ok=202,
        body=Bare('stop_evacuation', (Field('host', shapes.TEXT, required=True),), strict=True),
    ),
]
