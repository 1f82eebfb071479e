# SPDX-License-Identifier: Apache-2.0
"""The calls for QoS types."""

from manila_lite.actions import qos_types as actions
from manila_lite.api.framework import related, shapes
from manila_lite.api.framework.bodies import Bare
from manila_lite.api.framework.call import PAGE, Body, Call, Field, Many, One, Plain, View
from manila_lite.api.framework.handlers import BODY, PAGING, QUERY, act, loaded, path, read, with_pairs
from manila_lite.api.framework.type_calls import SpecCalls
from manila_lite.api.request import Request
from manila_lite.db import models
from manila_lite.db.core import key_values
from manila_lite.db.queries import qos_types

_load = related.pairs_loader(models.qos_type_specs)

# Specs ------------------------------------------------------------------------------------------


def _read_specs(req: Request) -> dict[str, str]:
    with req.ctx.db.reader() as conn:
        return key_values.of(conn, models.qos_type_specs, qos_types.get(conn, req.params['qos_type_id']).id)


SPECS = SpecCalls(
    'QoS type', 'spec', 'qos_type_id', read=_read_specs, change=actions.set_specs, item_name='QoS spec'
)


# Fields and calls -------------------------------------------------------------------------------

QOS_TYPE = View(
    'qos_type',
    'qos_types',
    (
        Field('id', shapes.ID),
        Field('name', shapes.STRING),
        Field('description', shapes.NAME),
        Field('specs', shapes.PAIRS, read=related.pairs_of),
        Field('created_at', shapes.TIME),
        Field('updated_at', shapes.NULL_TIME),
    ),
    'qos-types',
)

_VALUE = {'type': ['string', 'boolean', 'number'], 'minLength': 1, 'maxLength': 1023}
_ANY_SPECS = {'type': 'object', 'additionalProperties': _VALUE}
_SPECS = {**_ANY_SPECS, 'minProperties': 1}

_CREATE = (
    Field('name', {**shapes.TEXT, 'pattern': r'\S'}, required=True),
    Field('description', shapes.NAME),
    Field('specs', {**_ANY_SPECS, 'type': ['object', 'null']}),
)
_FILTERS = (*(Field(name, shapes.STRING) for name in ('name', 'description', 'name~', 'description~')), *PAGE)

_ALL, _ONE = '/qos-types', '/qos-types/{qos_type_id}'
_KEY = f'{_ONE}/specs/{{key}}'
_SINCE = '2.94'

CALLS = [
    Call(
        'GET',
        _ALL,
        read('List QoS types.', qos_types.list_types, QUERY, PAGING, name='index', load=_load),
        'qos_type:index',
        Many(QOS_TYPE, paged=True),
        since=_SINCE,
        query=_FILTERS,
    ),
    Call(
        'GET',
        _ONE,
        read('Show one QoS type.', qos_types.get, path('qos_type_id'), name='show', load=_load),
        'qos_type:show',
        One(QOS_TYPE),
        since=_SINCE,
    ),
    Call(
        'POST',
        _ALL,
        act('Create a QoS type.', actions.create, BODY, then=with_pairs),
        'qos_type:create',
        One(QOS_TYPE),
        since=_SINCE,
        once=True,
        body=Body('qos_type', _CREATE, strict=True),
    ),
    Call(
        'PUT',
        _ONE,
        act(
            'Change the description of a QoS type.',
            actions.update,
            path('qos_type_id'),
            BODY,
            then=loaded(_load),
        ),
        'qos_type:update',
        One(QOS_TYPE),
        since=_SINCE,
        body=Body('qos_type', (Field('description', shapes.NAME),), strict=True),
    ),
    Call(
        'DELETE',
        _ONE,
        act('Delete a QoS type.', actions.delete, path('qos_type_id')),
        'qos_type:delete',
        ok=204,
        since=_SINCE,
    ),
    Call(
        'GET',
        f'{_ONE}/specs',
        SPECS.named('get_specs'),
        'qos_types_spec:index',
        Plain(shapes.PAIRS, 'specs'),
        since=_SINCE,
    ),
    Call(
        'POST',
        f'{_ONE}/specs',
        SPECS.named('set_specs'),
        'qos_types_spec:create',
        Plain(shapes.PAIRS, 'specs'),
        since=_SINCE,
        body=Body('specs', free=_SPECS),
    ),
    Call('GET', _KEY, SPECS.named('get_spec'), 'qos_types_spec:show', Plain(shapes.PAIRS), since=_SINCE),
    Call(
        'PUT',
        _KEY,
        SPECS.named('set_spec'),
        'qos_types_spec:update',
        Plain(shapes.PAIRS),
        since=_SINCE,
        body=Bare('body', free=_SPECS),
    ),
    Call(
        'DELETE',
        _KEY,
        act('Delete one spec of a QoS type.', actions.delete_spec, path('qos_type_id'), path('key')),
        'qos_types_spec:delete',
        ok=204,
        since=_SINCE,
    ),
]
