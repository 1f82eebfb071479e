# SPDX-License-Identifier: Apache-2.0
"""The calls for share types. Answers hold each type twice: older clients call it a volume type."""

from collections.abc import Mapping
from typing import Any

from manila_lite.actions import share_types as actions
from manila_lite.actions import type_extra_specs
from manila_lite.api.framework import shapes
from manila_lite.api.framework.bodies import Bare
from manila_lite.api.framework.call import Body, Call, Field, Many, One, Plain, View
from manila_lite.api.framework.handlers import BODY, act, path
from manila_lite.api.framework.type_calls import SpecCalls, TypeCalls
from manila_lite.api.request import Request
from manila_lite.db.queries import share_types

#: Extra specs that older versions add to a type and do not delete.
_ASSUMED = {type_extra_specs.SNAPSHOT_SUPPORT: 'True'}
_NEEDED = frozenset({type_extra_specs.DHSS})


# Reading rows -----------------------------------------------------------------------------------


def specs_of(row: Any, req: Request) -> Mapping[str, str]:
    """Read the extra specs: all of them for administrators, the visible ones for users."""
    return row.extra_specs if req.ctx.is_admin else type_extra_specs.visible_specs(row.extra_specs)


def specs_and_abilities_of(row: Any, req: Request) -> Mapping[str, str]:
    """Read the extra specs. Users also see the abilities that shares of the type lack."""
    specs = specs_of(row, req)
    return specs if req.ctx.is_admin else {**specs, **type_extra_specs.missing_abilities(row.extra_specs)}


def required_of(row: Any, req: Request) -> Mapping[str, str]:
    """Read the extra specs that every type has."""
    return type_extra_specs.required_specs(row.extra_specs)


# Types ------------------------------------------------------------------------------------------

#: Calls that are the same for every kind of type.
TYPES = TypeCalls('share type', share_types, 'type_id', 'extra_specs')


def update(req: Request) -> Any:
    """Change the name, description or visibility of a share type."""
    values = {key: value for key, value in req.body.items() if value is not None or key == 'description'}
    if 'description' in values:
        # As in Manila, an empty description is none.
        values['description'] = values['description'] or None
    return actions.update(req.ctx, req.params['type_id'], values)


# Extra specs ------------------------------------------------------------------------------------

SPECS = SpecCalls(
    'share type',
    'extra spec',
    'type_id',
    read=lambda req: specs_of(TYPES.show(req), req),
    change=actions.set_specs,
)


_OLD_PUBLIC, _PUBLIC = 'os-share-type-access:is_public', 'share_type_access:is_public'

# Fields and calls -------------------------------------------------------------------------------

TYPE = View(
    'share_type',
    'share_types',
    (
        Field('id', shapes.ID),
        Field('name', {'type': 'string'}),
        Field(_OLD_PUBLIC, shapes.BOOLEAN, until='2.6', read='is_public'),
        Field(_PUBLIC, shapes.BOOLEAN, since='2.7', read='is_public'),
        Field('required_extra_specs', shapes.PAIRS, read=required_of),
        Field('extra_specs', shapes.PAIRS, until='2.23', read=specs_of),
        Field('extra_specs', shapes.PAIRS, since='2.24', read=specs_and_abilities_of),
        Field('description', shapes.NAME, since='2.41'),
        Field('is_default', shapes.BOOLEAN, since='2.46', read=TYPES.is_default),
    ),
)


def is_public(value: Any) -> bool | None:
    """Return the filter, or None for ``all`` and ``none``."""
    return None if str(value).lower() in ('all', 'none') else shapes.flag(value)


_SPEC_VALUES = {'type': 'object', 'additionalProperties': {'type': ['string', 'boolean', 'number']}}
_SPECS = {**_SPEC_VALUES, 'minProperties': 1}

_VALUES = (
    Field('description', shapes.NAME, since='2.41'),
    Field('is_public', shapes.NULL_FLAG, parse=shapes.flag, aliases=(_PUBLIC, _OLD_PUBLIC)),
)
_CREATE = Body(
    'share_type',
    (
        Field('name', {**shapes.TEXT, 'pattern': r'\S'}, required=True),
        Field('extra_specs', _SPEC_VALUES, required=True),
        *_VALUES,
    ),
    keys=('volume_type',),
    strict=True,
)
_UPDATE = Body(
    'share_type',
    (Field('name', {**shapes.NAME, 'pattern': r'\S'}), *_VALUES),
    keys=('volume_type',),
    strict=True,
)

_FILTERS = (
    Field('is_public', {'type': 'string'}, parse=is_public),
    Field(
        'extra_specs', {'type': 'string'}, since='2.43', parse=shapes.pairs, hidden=type_extra_specs.hidden
    ),
)

_ONE = '/types/{type_id}'
_ACTION = f'{_ONE}/action'
_KEY = f'{_ONE}/extra_specs/{{key}}'
_ACCESS = {'type': 'array', 'items': shapes.document({'share_type_id': shapes.ID, 'project_id': shapes.ID})}


def _project(action: str) -> Body:
    return Body(action, (Field('project', shapes.TEXT, required=True),))


CALLS = [
    Call(
        'GET',
        '/types',
        TYPES.named('index'),
        'share_type:index',
        Many(TYPE, twin='volume_types'),
        query=_FILTERS,
    ),
    Call(
        'GET', '/types/default', TYPES.named('default'), 'share_type:default', One(TYPE, twin='volume_type')
    ),
    Call('GET', _ONE, TYPES.named('show'), 'share_type:show', One(TYPE, twin='volume_type')),
    Call(
        'POST',
        '/types',
        act(
            'Create a share type whose shares have snapshots unless the request says otherwise.',
            actions.create,
            BODY,
            name='create_with_snapshots',
            defaults=_ASSUMED,
        ),
        'share_type:create',
        One(TYPE, twin='volume_type'),
        until='2.23',
        body=_CREATE,
    ),
    Call(
        'POST',
        '/types',
        act('Create a share type.', actions.create, BODY, defaults={}),
        'share_type:create',
        One(TYPE, twin='volume_type'),
        since='2.24',
        body=_CREATE,
    ),
    Call('PUT', _ONE, update, 'share_type:update', One(TYPE, twin='volume_type'), since='2.50', body=_UPDATE),
    Call(
        'DELETE',
        _ONE,
        act('Delete a share type.', actions.delete, path('type_id')),
        'share_type:delete',
        ok=202,
    ),
    Call(
        'GET',
        f'{_ONE}/share_type_access',
        TYPES.named('list_access'),
        'share_type:list_project_access',
        Plain(_ACCESS, 'share_type_access'),
        old_path=f'{_ONE}/os-share-type-access',
    ),
    Call(
        'POST',
        _ACTION,
        TYPES.named('add_access'),
        'share_type:add_project_access',
        ok=202,
        action='addProjectAccess',
        old_action='addProjectAccess',
        body=_project('addProjectAccess'),
    ),
    Call(
        'POST',
        _ACTION,
        TYPES.named('remove_access'),
        'share_type:remove_project_access',
        ok=202,
        action='removeProjectAccess',
        old_action='removeProjectAccess',
        body=_project('removeProjectAccess'),
    ),
    Call(
        'GET',
        f'{_ONE}/extra_specs',
        SPECS.named('get_specs'),
        'share_types_extra_spec:index',
        Plain(shapes.PAIRS, 'extra_specs'),
    ),
    Call(
        'POST',
        f'{_ONE}/extra_specs',
        SPECS.named('set_specs'),
        'share_types_extra_spec:create',
        Plain(shapes.PAIRS, 'extra_specs'),
        body=Body('extra_specs', free=_SPECS),
    ),
    Call('GET', _KEY, SPECS.named('get_spec'), 'share_types_extra_spec:show', Plain(shapes.PAIRS)),
    Call(
        'PUT',
        _KEY,
        SPECS.named('set_spec'),
        'share_types_extra_spec:update',
        Plain(shapes.PAIRS),
        body=Bare('body', free=_SPECS),
    ),
    Call(
        'DELETE',
        _KEY,
        act(
            'Delete one extra spec of a share type, except those that older versions need.',
            actions.delete_spec,
            path('type_id'),
            path('key'),
            name='delete_spec_but_snapshots',
            needed=_NEEDED | set(_ASSUMED),
        ),
        'share_types_extra_spec:delete',
        until='2.23',
        ok=202,
    ),
    Call(
        'DELETE',
        _KEY,
        act(
            'Delete one extra spec of a share type.',
            actions.delete_spec,
            path('type_id'),
            path('key'),
            needed=_NEEDED,
        ),
        'share_types_extra_spec:delete',
        since='2.24',
        ok=202,
    ),
]
