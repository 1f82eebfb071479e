# SPDX-License-Identifier: Apache-2.0
"""Actions on share group types. Each is one transaction, and complete when it returns."""

from collections.abc import Mapping
from typing import Any

from manila_lite.actions import type_extra_specs
from manila_lite.context import RequestContext
from manila_lite.db.core import key_values
from manila_lite.db.models import share_group_type_specs
from manila_lite.db.queries import share_group_types as rows
from manila_lite.db.queries import share_types


def create(ctx: RequestContext, wanted: Mapping[str, Any]) -> rows.ShareGroupType:
    """Create a share group type. Return its row.

    :raises errors.Invalid: a group spec is wrong.
    :raises errors.NotFound: a share type does not exist.
    :raises errors.Exists: the name is taken.
    """
    specs = type_extra_specs.read_texts(wanted.get('group_specs') or {}, 'group_specs')
    public = wanted.get('is_public')
    with ctx.db.writer() as conn:
        share_type_ids = dict.fromkeys(share_types.find(conn, ctx, name).id for name in wanted['share_types'])
        group_type_id = rows.create(
            conn, wanted['name'], specs, share_type_ids, is_public=True if public is None else public
        )
        return rows.get(conn, ctx.elevated(), group_type_id)


def delete(ctx: RequestContext, group_type_id: str) -> None:
    """Delete a share group type with its group specs and projects.

    :raises errors.Invalid: a group is of the type.
    """
    with ctx.db.writer() as conn:
        rows.get(conn, ctx, group_type_id)
        rows.delete(conn, group_type_id)


# Group specs --------------------------------------------------------------------------------------


def set_specs(ctx: RequestContext, group_type_id: str, specs: Mapping[str, Any]) -> dict[str, str]:
    """Add or change group specs of a type. Return the given specs as they are stored.

    :raises errors.Invalid: a key or a value is wrong.
    """
    stored = type_extra_specs.read_texts(specs, 'group_specs')
    with ctx.db.writer() as conn:
        rows.get(conn, ctx, group_type_id)
        key_values.merge(conn, share_group_type_specs, group_type_id, stored)
    return stored


def delete_spec(ctx: RequestContext, group_type_id: str, key: str) -> None:
    """Delete one group spec of a type.

    :raises errors.NotFound: the type has no such group spec.
    """
    with ctx.db.writer() as conn:
        rows.get(conn, ctx, group_type_id)
        key_values.remove(conn, share_group_type_specs, group_type_id, key, 'group spec')
