# SPDX-License-Identifier: Apache-2.0
"""Handlers for share group types: from the parsed request to an action or a query, and back."""

from typing import Any

from manila_lite import errors
from manila_lite.actions import share_group_types as actions
from manila_lite.api.request import Request
from manila_lite.api.v2.type_calls import SpecCalls, TypeCalls
from manila_lite.db.queries import share_group_types


def is_default(row: Any, req: Request) -> bool:
    """Say whether the type is the default one."""
    return bool(row.name == req.ctx.conf.default_share_group_type)


# Types ------------------------------------------------------------------------------------------

#: Calls that are the same for every kind of type.
TYPES = TypeCalls(
    'share_group_types', 'share group type', share_group_types, 'share_group_type_id', 'group_specs'
)


def default(req: Request) -> Any:
    """Show the default share group type."""
    name = req.ctx.conf.default_share_group_type
    if not name:
        raise errors.NotFound('No default share group type is configured.', code='share_group_type_not_found')
    with req.ctx.db.reader() as conn:
        return share_group_types.find(conn, req.ctx, name)


def create(req: Request) -> Any:
    """Create a share group type."""
    return actions.create(req.ctx, req.body)


def delete(req: Request) -> None:
    """Delete a share group type."""
    actions.delete(req.ctx, req.params['share_group_type_id'])


# Group specs ------------------------------------------------------------------------------------

SPECS = SpecCalls(
    'share_group_types',
    'share group type',
    'group spec',
    'share_group_type_id',
    read=lambda req: dict(TYPES.show(req).group_specs),
    change=actions.set_specs,
)


def delete_spec(req: Request) -> None:
    """Delete one group spec of a share group type."""
    actions.delete_spec(req.ctx, req.params['share_group_type_id'], req.params['key'])
