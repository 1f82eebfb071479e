# SPDX-License-Identifier: Apache-2.0
"""Handlers for share types: from the parsed request to an action or a query, and back."""

from collections.abc import Mapping
from typing import Any

from manila_lite import errors
from manila_lite.actions import share_types as actions
from manila_lite.actions import type_extra_specs
from manila_lite.api.request import Request
from manila_lite.api.v2.type_calls import SpecCalls, TypeCalls
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


def is_default(row: Any, req: Request) -> bool:
    """Say whether the type is the default one."""
    return bool(row.name == req.ctx.conf.default_share_type)


# Types ------------------------------------------------------------------------------------------

#: Calls that are the same for every kind of type.
TYPES = TypeCalls('share_types', 'share type', share_types, 'type_id', 'extra_specs')


def default(req: Request) -> Any:
    """Show the default share type."""
    name = req.ctx.conf.default_share_type
    if not name:
        raise errors.NotFound('No default share type is configured.', code='share_type_not_found')
    with req.ctx.db.reader() as conn:
        return share_types.get_by_name(conn, req.ctx, name)


def create(req: Request) -> Any:
    """Create a share type."""
    return actions.create(req.ctx, req.body, {})


def create_with_snapshots(req: Request) -> Any:
    """Create a share type whose shares have snapshots unless the request says otherwise."""
    return actions.create(req.ctx, req.body, _ASSUMED)


def update(req: Request) -> Any:
    """Change the name, description or visibility of a share type."""
    values = {key: value for key, value in req.body.items() if value is not None or key == 'description'}
    if 'description' in values:
        # As in Manila, an empty description is none.
        values['description'] = values['description'] or None
    return actions.update(req.ctx, req.params['type_id'], values)


def delete(req: Request) -> None:
    """Delete a share type."""
    actions.delete(req.ctx, req.params['type_id'])


# Extra specs ------------------------------------------------------------------------------------

SPECS = SpecCalls(
    'share_types',
    'share type',
    'extra spec',
    'type_id',
    read=lambda req: specs_of(TYPES.show(req), req),
    change=actions.set_specs,
)


def delete_spec(req: Request) -> None:
    """Delete one extra spec of a share type."""
    actions.delete_spec(req.ctx, req.params['type_id'], req.params['key'], _NEEDED)


def delete_spec_but_snapshots(req: Request) -> None:
    """Delete one extra spec of a share type, except those that older versions need."""
    actions.delete_spec(req.ctx, req.params['type_id'], req.params['key'], _NEEDED | set(_ASSUMED))
