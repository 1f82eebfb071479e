# SPDX-License-Identifier: Apache-2.0
"""The calls for share group types."""

from typing import Any

from manila_lite.actions import share_group_types as actions
from manila_lite.api.framework import shapes
from manila_lite.api.framework.bodies import Bare
from manila_lite.api.framework.call import Body, Call, Field, Many, One, Plain, View
from manila_lite.api.framework.handlers import BODY, act, path
from manila_lite.api.framework.type_calls import SpecCalls, TypeCalls
from manila_lite.api.v2.share_types import is_public
from manila_lite.db.queries import share_group_types

# Types ------------------------------------------------------------------------------------------

#: Calls that are the same for every kind of type.
TYPES = TypeCalls('share group type', share_group_types, 'share_group_type_id', 'group_specs')


# Group specs ------------------------------------------------------------------------------------

SPECS = SpecCalls(
    'share group type',
    'group spec',
    'share_group_type_id',
    read=lambda req: dict(TYPES.show(req).group_specs),
    change=actions.set_specs,
)


# Fields and calls -------------------------------------------------------------------------------

TYPE = View(
    'share_group_type',
    'share_group_types',
    (
        Field('id', shapes.ID),
        Field('name', {'type': 'string'}),
        Field('is_public', shapes.BOOLEAN),
        Field('group_specs', shapes.PAIRS),
        Field('share_types', {'type': 'array', 'items': shapes.ID}),
        Field('is_default', shapes.BOOLEAN, since='2.46', read=TYPES.is_default),
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
_ACCESS = {
    'type': 'array',
    'items': shapes.document({'share_group_type_id': shapes.ID, 'project_id': shapes.ID}),
}


def _project(action: str) -> Body:
    return Body(action, (Field('project', shapes.TEXT, required=True),))


def group_call(*args: Any, **more: Any) -> Call:
    """Return a call for share groups, which was experimental at first."""
    return Call(*args, since='2.31', experimental_until='2.54', **more)  # type: ignore[misc]


CALLS = [
    group_call(
        'GET',
        '/share-group-types',
        TYPES.named('index'),
        'share_group_type:index',
        Many(TYPE),
        query=_FILTERS,
    ),
    group_call(
        'GET', '/share-group-types/default', TYPES.named('default'), 'share_group_type:default', One(TYPE)
    ),
    group_call('GET', _ONE, TYPES.named('show'), 'share_group_type:get', One(TYPE)),
    group_call(
        'POST',
        '/share-group-types',
        act('Create a share group type.', actions.create, BODY),
        'share_group_type:create',
        One(TYPE),
        body=_CREATE,
    ),
    group_call(
        'DELETE',
        _ONE,
        act('Delete a share group type.', actions.delete, path('share_group_type_id')),
        'share_group_type:delete',
        ok=204,
    ),
    group_call(
        'GET',
        f'{_ONE}/access',
        TYPES.named('list_access'),
        'share_group_type:list_project_access',
        Plain(_ACCESS, 'share_group_type_access'),
    ),
    group_call(
        'POST',
        _ACTION,
        TYPES.named('add_access'),
        'share_group_type:add_project_access',
        ok=202,
        action='addProjectAccess',
        body=_project('addProjectAccess'),
    ),
    group_call(
        'POST',
        _ACTION,
        TYPES.named('remove_access'),
        'share_group_type:remove_project_access',
        ok=202,
        action='removeProjectAccess',
        body=_project('removeProjectAccess'),
    ),
    group_call(
        'GET',
        f'{_ONE}/group-specs',
        SPECS.named('get_specs'),
        'share_group_types_spec:index',
        Plain(shapes.PAIRS, 'group_specs'),
    ),
    group_call(
        'POST',
        f'{_ONE}/group-specs',
        SPECS.named('set_specs'),
        'share_group_types_spec:create',
        Plain(shapes.PAIRS, 'group_specs'),
        body=Body('group_specs', free=_SPECS),
    ),
    group_call('GET', _KEY, SPECS.named('get_spec'), 'share_group_types_spec:show', Plain(shapes.PAIRS)),
    group_call(
        'PUT',
        _KEY,
        SPECS.named('set_spec'),
        'share_group_types_spec:update',
        Plain(shapes.PAIRS),
        body=Bare('body', free=_SPECS),
    ),
    group_call(
        'DELETE',
        _KEY,
        act(
            'Delete one group spec of a share group type.',
            actions.delete_spec,
            path('share_group_type_id'),
            path('key'),
        ),
        'share_group_types_spec:delete',
        ok=204,
    ),
]
