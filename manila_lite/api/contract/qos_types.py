# SPDX-License-Identifier: Apache-2.0
"""The calls for QoS types."""

from manila_lite.api.contract import shapes
from manila_lite.api.contract.call import PAGE, Body, Call, Field, Many, One, Plain
from manila_lite.api.contract.fields import STRING, View
from manila_lite.api.contract.shapes import ID, NAME, NULL_TIME, PAIRS, TIME
from manila_lite.api.contract.share_types import Bare
from manila_lite.api.v2 import qos_types as v2
from manila_lite.api.v2.related import pairs_of
from manila_lite.policies import qos_types as rules

QOS_TYPE = View(
    'qos_type',
    'qos_types',
    (
        Field('id', ID),
        Field('name', STRING),
        Field('description', NAME),
        Field('specs', PAIRS, read=pairs_of),
        Field('created_at', TIME),
        Field('updated_at', NULL_TIME),
    ),
    'qos-types',
)

_VALUE = {'type': ['string', 'boolean', 'number'], 'minLength': 1, 'maxLength': 1023}
_ANY_SPECS = {'type': 'object', 'additionalProperties': _VALUE}
_SPECS = {**_ANY_SPECS, 'minProperties': 1}

_CREATE = (
    Field('name', {**shapes.TEXT, 'pattern': r'\S'}, required=True),
    Field('description', NAME),
    Field('specs', {**_ANY_SPECS, 'type': ['object', 'null']}),
)
_FILTERS = (*(Field(name, STRING) for name in ('name', 'description', 'name~', 'description~')), *PAGE)

_ALL, _ONE = '/qos-types', '/qos-types/{qos_type_id}'
_KEY = f'{_ONE}/specs/{{key}}'
_SINCE = '2.94'

OPS = [
    Call('GET', _ALL, v2.index, rules.INDEX, Many(QOS_TYPE, paged=True), since=_SINCE, query=_FILTERS),
    Call('GET', _ONE, v2.show, rules.SHOW, One(QOS_TYPE), since=_SINCE),
    Call(
        'POST',
        _ALL,
        v2.create,
        rules.CREATE,
        One(QOS_TYPE),
        since=_SINCE,
        once=True,
        body=Body('qos_type', _CREATE, strict=True),
    ),
    Call(
        'PUT',
        _ONE,
        v2.update,
        rules.UPDATE,
        One(QOS_TYPE),
        since=_SINCE,
        body=Body('qos_type', (Field('description', NAME),), strict=True),
    ),
    Call('DELETE', _ONE, v2.delete, rules.DELETE, ok=204, since=_SINCE),
    Call(
        'GET',
        f'{_ONE}/specs',
        v2.SPECS.named('get_specs'),
        rules.GET_SPECS,
        Plain(PAIRS, 'specs'),
        since=_SINCE,
    ),
    Call(
        'POST',
        f'{_ONE}/specs',
        v2.SPECS.named('set_specs'),
        rules.CREATE_SPEC,
        Plain(PAIRS, 'specs'),
        since=_SINCE,
        body=Body('specs', free=_SPECS),
    ),
    Call('GET', _KEY, v2.SPECS.named('get_spec'), rules.GET_SPEC, Plain(PAIRS), since=_SINCE),
    Call(
        'PUT',
        _KEY,
        v2.SPECS.named('set_spec'),
        rules.UPDATE_SPEC,
        Plain(PAIRS),
        since=_SINCE,
        body=Bare('body', free=_SPECS),
    ),
    Call('DELETE', _KEY, v2.delete_spec, rules.DELETE_SPEC, ok=204, since=_SINCE),
]
