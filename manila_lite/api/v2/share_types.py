# SPDX-License-Identifier: Apache-2.0
"""Handlers for share types: from the parsed request to an action or a query, and back."""

from collections.abc import Mapping
from typing import Any

from manila_lite import errors
from manila_lite.actions import share_types as actions
from manila_lite.actions import type_access, type_extra_specs
from manila_lite.api.request import Request
from manila_lite.api.v2 import metadata
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
    found = specs_of(row, req)
    return found if req.ctx.is_admin else {**found, **type_extra_specs.missing_abilities(row.extra_specs)}


def required_of(row: Any, req: Request) -> Mapping[str, str]:
    """Read the extra specs that every type has."""
    return type_extra_specs.required_specs(row.extra_specs)


def is_default(row: Any, req: Request) -> bool:
    """Say whether the type is the default one."""
    return bool(row.name == req.ctx.conf.default_share_type)


# Types ------------------------------------------------------------------------------------------

def index(req: Request) -> list[Any]:
    """List share types: public ones by default; users also see the private ones that they may use."""
    public = req.query.get('is_public', True) if req.ctx.is_admin else None
    with req.ctx.db.reader() as conn:
        return share_types.list_types(conn, req.ctx, is_public=public, extra_specs=req.query.get('extra_specs'))


def default(req: Request) -> Any:
    """Show the default share type."""
    name = req.ctx.conf.default_share_type
    if not name:
        raise errors.NotFound('No default share type is configured.', code='share_type_not_found')
    with req.ctx.db.reader() as conn:
        return share_types.named(conn, req.ctx, name)


def show(req: Request) -> Any:
    """Show one share type."""
    with req.ctx.db.reader() as conn:
        return share_types.get(conn, req.ctx, req.params['type_id'])


def create(req: Request) -> Any:
    """Create a share type."""
    return actions.create(req.ctx, req.body, {})


def create_with_snapshots(req: Request) -> Any:
    """Create a share type whose shares have snapshots unless the request says otherwise."""
    return actions.create(req.ctx, req.body, _ASSUMED)


def update(req: Request) -> Any:
    """Change the name, description or visibility of a share type."""
    values = {key: value for key, value in req.body.items() if value is not None or key == 'description'}
    return actions.update(req.ctx, req.params['type_id'], values)


def delete(req: Request) -> None:
    """Delete a share type."""
    actions.delete(req.ctx, req.params['type_id'])


# Projects ---------------------------------------------------------------------------------------

def list_access(req: Request) -> list[dict[str, str]]:
    """List the projects that may use a private share type."""
    return type_access.list_projects(req.ctx, share_types, req.params['type_id'])


def add_access(req: Request) -> None:
    """Allow a project to use a private share type."""
    type_access.add(req.ctx, share_types, req.params['type_id'], req.body['project'])


def remove_access(req: Request) -> None:
    """Withdraw a project's right to use a private share type."""
    type_access.remove(req.ctx, share_types, req.params['type_id'], req.body['project'])


# Extra specs ------------------------------------------------------------------------------------

def get_specs(req: Request) -> Mapping[str, str]:
    """Show the extra specs of a share type."""
    return specs_of(show(req), req)


def set_specs(req: Request) -> Mapping[str, str]:
    """Set extra specs of a share type."""
    return actions.set_specs(req.ctx, req.params['type_id'], req.body)


def get_spec(req: Request) -> dict[str, str]:
    """Show one extra spec of a share type."""
    return metadata.get_pair(get_specs(req), req.params['key'], 'extra spec')


def set_spec(req: Request) -> Mapping[str, str]:
    """Set one extra spec of a share type."""
    metadata.get_pair_of_path(req)
    return set_specs(req)


def delete_spec(req: Request) -> None:
    """Delete one extra spec of a share type."""
    actions.delete_spec(req.ctx, req.params['type_id'], req.params['key'], _NEEDED)


def delete_spec_but_snapshots(req: Request) -> None:
    """Delete one extra spec of a share type, except those that older versions need."""
    actions.delete_spec(req.ctx, req.params['type_id'], req.params['key'], _NEEDED | set(_ASSUMED))
