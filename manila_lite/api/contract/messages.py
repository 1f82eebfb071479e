# SPDX-License-Identifier: Apache-2.0
"""The calls for user messages. Clients choose their next step by message ids (manila-csi does)."""

from manila_lite.api.contract import shapes
from manila_lite.api.contract.call import PAGE, Call, Field, Many, One
from manila_lite.api.contract.fields import View
from manila_lite.api.contract.shapes import ID, NULL_STRING, NULL_TIME, TIME
from manila_lite.api.v2 import messages as v2
from manila_lite.policies import messages as rules

_TEXT = {'type': 'string'}

MESSAGE = View(
    'message',
    'messages',
    (
        Field('id', ID),
        Field('project_id', _TEXT),
        Field('action_id', _TEXT),
        Field('detail_id', _TEXT),
        Field('message_level', _TEXT),
        Field('created_at', TIME),
        Field('expires_at', NULL_TIME),
        Field('request_id', NULL_STRING),
        Field('resource_type', NULL_STRING),
        Field('resource_id', NULL_STRING),
        Field('user_message', _TEXT, read=v2.sentence),
    ),
    'messages',
)

FILTERS = (
    Field('id', _TEXT, aliases=('message_id',)),
    *(
        Field(name, _TEXT)
        for name in ('action_id', 'detail_id', 'message_level', 'request_id', 'resource_id', 'resource_type')
    ),
    Field('created_since', _TEXT, parse=shapes.time, since='2.52'),
    Field('created_before', _TEXT, parse=shapes.time, since='2.52'),
    *PAGE,
)

OPS = [
    Call('GET', '/messages', v2.index, rules.GET_ALL, Many(MESSAGE, paged=True), since='2.37', query=FILTERS),
    Call('GET', '/messages/{message_id}', v2.show, rules.GET, One(MESSAGE), since='2.37'),
    Call('DELETE', '/messages/{message_id}', v2.delete, rules.DELETE, ok=204, since='2.37'),
]
