# SPDX-License-Identifier: Apache-2.0
"""The calls for findings of the doctor: an addition to Manila's API, at every version."""

from manila_lite.api.contract import shapes
from manila_lite.api.contract.call import PAGE, Call, Field, Many, Plain
from manila_lite.api.contract.fields import View
from manila_lite.api.contract.services import Bare
from manila_lite.api.contract.shapes import BOOLEAN, NULL_STRING
from manila_lite.api.v2 import findings as v2
from manila_lite.policies import findings as rules

_TEXT = {'type': 'string'}
_SECONDS = {'type': ['integer', 'null']}

#: ``id`` is that of a resource, or a name such as a host or a table.
FINDING = View(
    'finding',
    'findings',
    (
        Field('what', _TEXT),
        Field('id', _TEXT),
        Field('state', _TEXT),
        Field('about', _TEXT),
        Field('project_id', NULL_STRING),
        Field('wrong', BOOLEAN),
        Field('why', _TEXT),
        Field('mendable', BOOLEAN, read=v2.mendable),
        Field('age', _SECONDS, read=v2.age),
        Field('attempts', {'type': ['integer', 'null']}),
        Field('owner', NULL_STRING),
        Field('lease_left', _SECONDS, read=v2.lease_left),
        Field('error', NULL_STRING),
    ),
)

FILTERS = (
    Field('wrong', shapes.FLAG, parse=shapes.flag),
    Field('older_than', {'type': 'integer', 'minimum': 0, 'maximum': shapes.MAX_INT}, parse=shapes.integer),
    *(field for field in PAGE if field.name in ('limit', 'offset')),
)
_WHICH = tuple(Field(name, shapes.TEXT, required=True) for name in ('what', 'id', 'state'))

OPS = [
    Call('GET', '/findings', v2.index, rules.INDEX, Many(FINDING, paged=True), query=FILTERS, strict=True),
    Call(
        'POST',
        '/findings/mend',
        v2.mend,
        rules.MEND,
        Plain(_TEXT, key='mended'),
        body=Bare('mend', _WHICH, strict=True),
    ),
]
