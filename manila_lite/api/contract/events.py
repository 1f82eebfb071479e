# SPDX-License-Identifier: Apache-2.0
"""The call for events: an addition to Manila's API, at every version."""

from manila_lite.api.contract import shapes
from manila_lite.api.contract.call import Call, Field, Plain
from manila_lite.api.contract.fields import document
from manila_lite.api.v2 import events as v2
from manila_lite.policies import events as rules

#: Seconds for which a client may wait for events at most.
MOST_WAIT = 30

_TEXT = {'type': 'string'}
_EVENT = document(
    {
        'id': _TEXT,
        'event': {'type': 'string', 'enum': ['operation', 'status', 'pool', 'service', 'reset']},
        'data': {'type': 'object'},
    }
)
#: The JSON form; the other one is ``text/event-stream``.
EVENTS = Plain(document({'events': {'type': 'array', 'items': _EVENT}, 'last_event_id': _TEXT}))

QUERY = (
    Field('all_tenants', shapes.FLAG, parse=shapes.flag, aliases=('all_projects',)),
    Field('last_event_id', _TEXT),
    Field('wait', {'type': 'integer', 'minimum': 0, 'maximum': MOST_WAIT}, parse=shapes.integer),
)

OPS = [Call('GET', '/events', v2.index, rules.INDEX, EVENTS, query=QUERY, strict=True, streams=True)]
