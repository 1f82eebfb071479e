# SPDX-License-Identifier: Apache-2.0
"""The calls for share types. Answers hold each type twice: older clients call it a volume type."""

import dataclasses
from typing import Any

from manila_lite.actions import type_extra_specs
from manila_lite.api.contract import fields, shapes
from manila_lite.api.contract.call import Body, Call, Field, Many, One, Plain
from manila_lite.api.contract.fields import Schema, View
from manila_lite.api.contract.shapes import BOOLEAN, ID, NAME, PAIRS
from manila_lite.api.v2 import share_types as v2
from manila_lite.policies import share_types as rules

_OLD_PUBLIC, _PUBLIC = 'os-share-type-access:is_public', 'share_type_access:is_public'

TYPE = View(
    'share_type',
    'share_types',
    (
        Field('id', ID),
        Field('name', {'type': 'string'}),
        Field(_OLD_PUBLIC, BOOLEAN, until='2.6', read='is_public'),
        Field(_PUBLIC, BOOLEAN, since='2.7', read='is_public'),
        Field('required_extra_specs', PAIRS, read=v2.required_of),
        Field('extra_specs', PAIRS, until='2.23', read=v2.specs_of),
        Field('extra_specs', PAIRS, since='2.24', read=v2.specs_and_abilities_of),
        Field('description', NAME, since='2.41'),
        Field('is_default', BOOLEAN, since='2.46', read=v2.is_default),
    ),
)


@dataclasses.dataclass(frozen=True, eq=False)
class _One(One):
    """A type under both names."""

    def render(self, row: Any, req: Any) -> dict[str, Any]:
        """Return the document."""
        shown = self.view.render(row, req)
        return {'share_type': shown, 'volume_type': shown}

    def schema(self, version: int) -> Schema:
        """Return the JSON schema of the document."""
        schema = self.view.schema(version)
        return fields.document({'share_type': schema, 'volume_type': schema})


@dataclasses.dataclass(frozen=True, eq=False)
class _Many(Many):
    """A list of types under both names."""

    def render(self, rows: Any, req: Any) -> dict[str, Any]:
        """Return the document."""
        shown = self.view.render_all(rows, req)
        return {'share_types': shown, 'volume_types': shown}

    def schema(self, version: int) -> Schema:
        """Return the JSON schema of the document."""
        schema = {'type': 'array', 'items': self.view.schema(version)}
        return fields.document({'share_types': schema, 'volume_types': schema})


@dataclasses.dataclass(frozen=True, eq=False)
class Bare(Body):
    """A body that is the entity itself, without a key around it."""

    def schema(self, version: int) -> Schema:
        """Return the JSON schema of the whole document."""
        return self.entity(version)

    def parse(self, version: int, document: Any, ignored: list[str] | None = None) -> Any:
        """Return the entity.

        :raises errors.Invalid: with the name of the field and the reason.
        """
        return super().parse(version, {self.key: document})


def is_public(value: Any) -> bool | None:
    """Return the filter, or None for ``all`` and ``none``."""
    return None if str(value).lower() in ('all', 'none') else shapes.flag(value)


_SPEC_VALUES = {'type': 'object', 'additionalProperties': {'type': ['string', 'boolean', 'number']}}
_SPECS = {**_SPEC_VALUES, 'minProperties': 1}

_VALUES = (
    Field('description', NAME, since='2.41'),
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
_ACCESS = {'type': 'array', 'items': fields.document({'share_type_id': ID, 'project_id': ID})}


def _project(action: str) -> Body:
    return Body(action, (Field('project', shapes.TEXT, required=True),))


OPS = [
    Call('GET', '/types', v2.TYPES.named('index'), rules.GET_ALL, _Many(TYPE), query=_FILTERS),
    Call('GET', '/types/default', v2.default, rules.DEFAULT, _One(TYPE)),
    Call('GET', _ONE, v2.TYPES.named('show'), rules.GET, _One(TYPE)),
    Call('POST', '/types', v2.create_with_snapshots, rules.CREATE, _One(TYPE), until='2.23', body=_CREATE),
    Call('POST', '/types', v2.create, rules.CREATE, _One(TYPE), since='2.24', body=_CREATE),
    Call('PUT', _ONE, v2.update, rules.UPDATE, _One(TYPE), since='2.50', body=_UPDATE),
    Call('DELETE', _ONE, v2.delete, rules.DELETE, ok=202),
    Call(
        'GET',
        f'{_ONE}/share_type_access',
        v2.TYPES.named('list_access'),
        rules.LIST_ACCESS,
        Plain(_ACCESS, 'share_type_access'),
        old_path=f'{_ONE}/os-share-type-access',
    ),
    Call(
        'POST',
        _ACTION,
        v2.TYPES.named('add_access'),
        rules.ADD_ACCESS,
        ok=202,
        action='addProjectAccess',
        old_action='addProjectAccess',
        body=_project('addProjectAccess'),
    ),
    Call(
        'POST',
        _ACTION,
        v2.TYPES.named('remove_access'),
        rules.REMOVE_ACCESS,
        ok=202,
        action='removeProjectAccess',
        old_action='removeProjectAccess',
        body=_project('removeProjectAccess'),
    ),
    Call(
        'GET',
        f'{_ONE}/extra_specs',
        v2.SPECS.named('get_specs'),
        rules.GET_SPECS,
        Plain(PAIRS, 'extra_specs'),
    ),
    Call(
        'POST',
        f'{_ONE}/extra_specs',
        v2.SPECS.named('set_specs'),
        rules.CREATE_SPEC,
        Plain(PAIRS, 'extra_specs'),
        body=Body('extra_specs', free=_SPECS),
    ),
    Call('GET', _KEY, v2.SPECS.named('get_spec'), rules.GET_SPEC, Plain(PAIRS)),
    Call(
        'PUT',
        _KEY,
        v2.SPECS.named('set_spec'),
        rules.UPDATE_SPEC,
        Plain(PAIRS),
        body=Bare('body', free=_SPECS),
    ),
    Call('DELETE', _KEY, v2.delete_spec_but_snapshots, rules.DELETE_SPEC, until='2.23', ok=202),
    Call('DELETE', _KEY, v2.delete_spec, rules.DELETE_SPEC, since='2.24', ok=202),
]
