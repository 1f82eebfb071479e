# SPDX-License-Identifier: Apache-2.0
"""Handlers for share group types: from the parsed request to an action or a query, and back."""

from collections.abc import Mapping
from typing import Any

from manila_lite import errors
from manila_lite.actions import share_group_types as actions
from manila_lite.actions import type_access
from manila_lite.api.request import Request
from manila_lite.api.v2 import metadata
from manila_lite.db.queries import share_group_types as types


def is_default(row: Any, req: Request) -> bool:
    """Say whether the type is the default one."""
    return bool(row.name == req.ctx.conf.default_share_group_type)


# Types ------------------------------------------------------------------------------------------

def index(req: Request) -> list[Any]:
    """List share group types: public ones by default; users also see the private ones that they may use."""
    public = req.query.get('is_public', True) if req.ctx.is_admin else None
    with req.ctx.db.reader() as conn:
        return types.list_types(conn, req.ctx, is_public=public, group_specs=req.query.get('group_specs'))


def default(req: Request) -> Any:
    """Show the default share group type."""
    name = req.ctx.conf.default_share_group_type
    if not name:
        raise errors.NotFound('No default share group type is configured.', code='share_group_type_not_found')
    with req.ctx.db.reader() as conn:
        return types.find(conn, req.ctx, name)


def show(req: Request) -> Any:
    """Show one share group type."""
    with req.ctx.db.reader() as conn:
        return types.get(conn, req.ctx, req.params['share_group_type_id'])


def create(req: Request) -> Any:
    """Create a share group type."""
    return actions.create(req.ctx, req.body)


def delete(req: Request) -> None:
    """Delete a share group type."""
    actions.delete(req.ctx, req.params['share_group_type_id'])


# Projects ---------------------------------------------------------------------------------------

def list_access(req: Request) -> list[dict[str, str]]:
    """List the projects that may use a private share group type."""
    return type_access.list_projects(req.ctx, types, req.params['share_group_type_id'])


def add_access(req: Request) -> None:
    """Allow a project to use a private share group type."""
    type_access.add(req.ctx, types, req.params['share_group_type_id'], req.body['project'])


def remove_access(req: Request) -> None:
    """Withdraw a project's right to use a private share group type."""
    type_access.remove(req.ctx, types, req.params['share_group_type_id'], req.body['project'])


# Group specs ------------------------------------------------------------------------------------

def get_specs(req: Request) -> Mapping[str, str]:
    """Show the group specs of a share group type."""
    specs: Mapping[str, str] = show(req).group_specs
    return specs


def set_specs(req: Request) -> Mapping[str, str]:
    """Set group specs of a share group type."""
    return actions.set_specs(req.ctx, req.params['share_group_type_id'], req.body)


def get_spec(req: Request) -> dict[str, str]:
    """Show one group spec of a share group type."""
    return metadata.get_pair(get_specs(req), req.params['key'], 'group spec')


def set_spec(req: Request) -> Mapping[str, str]:
    """Set one group spec of a share group type."""
    metadata.get_pair_of_path(req)
    return set_specs(req)


def delete_spec(req: Request) -> None:
    """Delete one group spec of a share group type."""
    actions.delete_spec(req.ctx, req.params['share_group_type_id'], req.params['key'])
