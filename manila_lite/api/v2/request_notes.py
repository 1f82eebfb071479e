# SPDX-License-Identifier: Apache-2.0
"""The call for notes of slow and failed requests: an addition to Manila's API, at every version."""

from manila_lite.api.framework import shapes
from manila_lite.api.framework.call import PAGE, Call, Field, Many, View
from manila_lite.api.framework.handlers import PAGING, QUERY, read
from manila_lite.db.queries import request_notes

#: ``path`` is a template, such as ``/v2/shares/{share_id}``. ``slow`` and ``failed`` say how many of the ``requests`` were so.
#: A note of several requests has no method, path, status and ids, and the longest of their times.
NOTE = View(
    'request_note',
    'request_notes',
    (
        Field('id', shapes.ID),
        Field('created_at', shapes.TIME),
        Field('host', {'type': 'string'}, read='api_host'),
        Field('method', shapes.NULL_STRING),
        Field('path', shapes.NULL_STRING),
        Field('status', {'type': ['integer', 'null']}, read='code'),
        Field('seconds', {'type': 'number'}),
        Field('request_id', shapes.NULL_STRING),
        Field('project_id', shapes.NULL_STRING),
        Field('requests', shapes.COUNT),
        Field('slow', shapes.COUNT),
        Field('failed', shapes.COUNT),
    ),
)

FILTERS = (
    Field('slow', shapes.FLAG, parse=shapes.flag),
    Field('failed', shapes.FLAG, parse=shapes.flag),
    *(field for field in PAGE if field.name in ('limit', 'offset')),
)

CALLS = [
    Call(
        'GET',
        '/request-notes',
        read(
            'List slow requests and errors of the service of the last hour, the newest first.',
            request_notes.list_notes,
            QUERY,
            PAGING,
            name='index',
        ),
        'request_note:index',
        Many(NOTE, paged=True),
        query=FILTERS,
        strict=True,
    )
]
