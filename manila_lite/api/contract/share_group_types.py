# SPDX-License-Identifier: Apache-2.0
"""The calls for share group types."""

from typing import Any

from manila_lite.api.contract import fields, shapes
from manila_lite.api.contract.call import Body, Call, Field, Many, One, Plain
from manila_lite.api.contract.fields import View
from manila_lite.api.contract.shapes import BOOLEAN, ID, PAIRS
from manila_lite.api.contract.share_types import Bare, is_public
from manila_lite.api.v2 import share_group_types as v2
from manila_lite.policies import share_group_types as rules

TYPE = View(
    'share_group_type',
    'share_group_types',
    (
        Field('id', ID),
        Field('name', {'type': 'string'}),
        Field('is_public', BOOLEAN),
        Field('group_specs', PAIRS),
        Field('share_types', {'type': 'array', 'items': ID}),
        Field('is_default', BOOLEAN, since='2.46', read=v2.is_default),
    ),
)

_SPEC_VALUES = {'type': 'object', 'additionalProperties': {'type': ['string', 'boolean', 'number']}}
_SPECS = {**_SPEC_VALUES, 'minProperties': 1}

_CREATE = Body(
    'share_group_type',
    (
        Field('name', {**shapes.TEXT, 'pattern': r'\S'}, required=True),
        Field(
            'share_types',
            {**shapes.TEXT, 'type': ['array', 'string'], 'items': shapes.TEXT, 'minItems': 1},
            required=True,
            parse=shapes.one_or_several,
        ),
        Field('is_public', shapes.NULL_FLAG, parse=shapes.flag),
        Field('group_specs', {**_SPEC_VALUES, 'type': ['object', 'null']}),
    ),
)

_FILTERS = (
    Field('is_public', {'type': 'string'}, parse=is_public),
    Field('group_specs', {'type': 'string'}, since='2.66', parse=shapes.pairs),
)

_ONE = '/share-group-types/{share_group_type_id}'
_ACTION = f'{_ONE}/action'
_KEY = f'{_ONE}/group-specs/{{key}}'
_ACCESS = {'type': 'array', 'items': fields.document({'share_group_type_id': ID, 'project_id': ID})}


def _project(action: str) -> Body:
    return Body(action, (Field('project', shapes.TEXT, required=True),))


def group_op(*args: Any, **more: Any) -> Call:
    """Return a call for share groups, which was experimental at first."""
    return Call(*args, since='2.31', experimental_until='2.54', **more)  # type: ignore[misc]


OPS = [
    group_op('GET', '/share-group-types', v2.TYPES.named('index'), rules.GET_ALL, Many(TYPE), query=_FILTERS),
    group_op('GET', '/share-group-types/default', v2.default, rules.DEFAULT, One(TYPE)),
    group_op('GET', _ONE, v2.TYPES.named('show'), rules.GET, One(TYPE)),
    group_op('POST', '/share-group-types', v2.create, rules.CREATE, One(TYPE), body=_CREATE),
    group_op('DELETE', _ONE, v2.delete, rules.DELETE, ok=204),
    group_op(
        'GET',
        f'{_ONE}/access',
        v2.TYPES.named('list_access'),
        rules.LIST_ACCESS,
        Plain(_ACCESS, 'share_group_type_access'),
    ),
    group_op(
        'POST',
        _ACTION,
        v2.TYPES.named('add_access'),
        rules.ADD_ACCESS,
        ok=202,
        action='addProjectAccess',
        body=_project('addProjectAccess'),
    ),
    group_op(
        'POST',
        _ACTION,
        v2.TYPES.named('remove_access'),
        rules.REMOVE_ACCESS,
        ok=202,
        action='removeProjectAccess',
        body=_project('removeProjectAccess'),
    ),
    group_op(
        'GET',
        f'{_ONE}/group-specs',
        v2.SPECS.named('get_specs'),
        rules.GET_SPECS,
        Plain(PAIRS, 'group_specs'),
    ),
    group_op(
        'POST',
        f'{_ONE}/group-specs',
        v2.SPECS.named('set_specs'),
        rules.CREATE_SPEC,
        Plain(PAIRS, 'group_specs'),
        body=Body('group_specs', free=_SPECS),
    ),
    group_op('GET', _KEY, v2.SPECS.named('get_spec'), rules.GET_SPEC, Plain(PAIRS)),
    group_op(
        'PUT',
        _KEY,
        v2.SPECS.named('set_spec'),
        rules.UPDATE_SPEC,
        Plain(PAIRS),
        body=Bare('body', free=_SPECS),
    ),
    group_op('DELETE', _KEY, v2.delete_spec, rules.DELETE_SPEC, ok=204),
]
