# SPDX-License-Identifier: Apache-2.0
"""The call for events: an addition to Manila's API, at every version."""

from typing import Any

from manila_lite import errors
from manila_lite.api.framework import shapes
from manila_lite.api.framework.call import Call, Field, Plain
from manila_lite.api.request import HUB, Request


def index(req: Request) -> Any:
    """Listen to events: as a stream, or wait for the next ones."""
    answers = req.raw.environ.get(HUB)
    if answers is None:
        raise errors.Unavailable('This process has no events.')
    return answers.answer(req)


#: Seconds for which a client may wait for events at most.
MOST_WAIT = 30

_EVENT = shapes.document(
    {
        'id': shapes.STRING,
        'event': {'type': 'string', 'enum': ['operation', 'status', 'usage', 'pool', 'service', 'reset']},
        'data': {'type': 'object'},
    }
)
#: The JSON form; the other one is ``text/event-stream``.
EVENTS = Plain(
    shapes.document({'events': {'type': 'array', 'items': _EVENT}, 'last_event_id': shapes.STRING})
)

QUERY = (
    Field('all_tenants', shapes.FLAG, parse=shapes.flag, aliases=('all_projects',)),
    Field('last_event_id', shapes.STRING),
    Field('wait', {'type': 'integer', 'minimum': 0, 'maximum': MOST_WAIT}, parse=shapes.integer),
)

CALLS = [Call('GET', '/events', index, 'events:index', EVENTS, query=QUERY, strict=True, streams=True)]
