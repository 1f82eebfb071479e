# SPDX-License-Identifier: Apache-2.0
"""What an administrator may do with share group types: each is one transaction, and done when it returns."""

from collections.abc import Mapping
from typing import Any

from manila_lite import errors, extra_specs
from manila_lite.actions import type_specs
from manila_lite.context import RequestContext
from manila_lite.db import pairs, types
from manila_lite.db import share_group_types as rows
from manila_lite.db.models import share_group_type_specs

CONSISTENT = 'consistent_snapshot_support'


def create(ctx: RequestContext, wanted: Mapping[str, Any]) -> rows.ShareGroupType:
    """The type exists.

    :raises errors.Invalid: a group spec is wrong.
    :raises errors.NotFound: a share type is not there.
    :raises errors.Exists: the name is taken.
    """
    specs = _read(wanted.get('group_specs') or {})
    public = wanted.get('is_public')
    with ctx.db.writer() as conn:
        kinds = dict.fromkeys(types.find(conn, ctx, name).id for name in wanted['share_types'])
        ident = rows.create(conn, wanted['name'], specs, kinds, is_public=True if public is None else public)
        return rows.get(conn, ctx.elevated(), ident)


def delete(ctx: RequestContext, ident: str) -> None:
    """The type is gone, with its group specs and projects.

    :raises errors.Invalid: a group has it.
    """
    with ctx.db.writer() as conn:
        rows.get(conn, ctx, ident)
        rows.delete(conn, ident)


# Group specs --------------------------------------------------------------------------------------

def _read(specs: Mapping[str, Any]) -> dict[str, str]:
    """Return the group specs as they are kept.

    :raises errors.Invalid: a key or a value cannot be accepted.
    """
    found = type_specs.read_texts(specs, 'group_specs')
    if CONSISTENT in found and found[CONSISTENT].strip() not in ('host', 'pool'):
        try:
            extra_specs.is_true(found[CONSISTENT], strict=True)
        except ValueError:
            raise errors.Invalid(f'group_specs.{CONSISTENT}: must be host, pool, True or False, not '
                                 f'{found[CONSISTENT]!r}.') from None
    return found


def set_specs(ctx: RequestContext, ident: str, specs: Mapping[str, Any]) -> dict[str, str]:
    """The type has these group specs beside its others. Returns them as they are kept.

    :raises errors.Invalid: a key or a value is wrong.
    """
    found = _read(specs)
    with ctx.db.writer() as conn:
        rows.get(conn, ctx, ident)
        pairs.merge(conn, share_group_type_specs, ident, found)
    return found


def delete_spec(ctx: RequestContext, ident: str, key: str) -> None:
    """The group spec is gone.

    :raises errors.NotFound: the type has no such group spec.
    """
    with ctx.db.writer() as conn:
        rows.get(conn, ctx, ident)
        pairs.remove(conn, share_group_type_specs, ident, key, 'group spec')
