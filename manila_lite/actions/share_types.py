# SPDX-License-Identifier: Apache-2.0
"""Actions on share types. Each is one transaction, and complete when it returns."""

from collections.abc import Mapping
from typing import Any

from manila_lite import errors
from manila_lite.actions import type_extra_specs
from manila_lite.context import RequestContext
from manila_lite.db.core import key_values
from manila_lite.db.core.engine import Connection
from manila_lite.db.models import share_type_extra_specs
from manila_lite.db.queries import qos_types, share_types


def create(
    ctx: RequestContext, wanted: Mapping[str, Any], defaults: Mapping[str, str]
) -> share_types.ShareType:
    """Create a share type. Return it. ``defaults``: extra specs that are added if the request does not give them.

    :raises errors.Invalid: an extra spec is wrong, or driver_handles_share_servers is missing.
    :raises errors.Exists: the name is taken.
    """
    # A QoS type that the specs name may be created later: ``share_requests.must_have_qos``.
    specs = {**defaults, **type_extra_specs.read(wanted.get('extra_specs') or {})}
    type_extra_specs.check_complete(specs)
    public = wanted.get('is_public')
    with ctx.db.writer() as conn:
        share_type_id = share_types.create(
            conn,
            wanted['name'],
            specs,
            description=wanted.get('description'),
            is_public=True if public is None else public,
        )
        return share_types.get(conn, ctx.elevated(), share_type_id)


def update(ctx: RequestContext, share_type_id: str, values: dict[str, Any]) -> share_types.ShareType:
    """Change a type's name, description or is_public. Return the type.

    :raises errors.Invalid: no value is given.
    :raises errors.Exists: the name is taken.
    """
    if not values:
        raise errors.Invalid('share_type: give a name, a description or share_type_access:is_public.')
    with ctx.db.writer() as conn:
        share_types.get(conn, ctx, share_type_id)
        share_types.update(conn, share_type_id, values)
        return share_types.get(conn, ctx, share_type_id)


def delete(ctx: RequestContext, share_type_id: str) -> None:
    """Delete a share type with its extra specs, projects and quotas.

    :raises errors.Invalid: a share is of the type.
    """
    with ctx.db.writer() as conn:
        share_types.get(conn, ctx, share_type_id)
        share_types.delete(conn, share_type_id)


def _must_name_qos_type(conn: Connection, specs: Mapping[str, str]) -> None:
    """Refuse extra specs that name a QoS type that does not exist: shares of the type would lose the QoS that they have."""
    named = specs.get(qos_types.NAMED_BY)
    if named is not None and qos_types.find(conn, named) is None:
        raise errors.Invalid(
            f'extra_specs.{qos_types.NAMED_BY}: there is no QoS type {named!r}.', code='qos_type_not_found'
        )


# Extra specs --------------------------------------------------------------------------------------


def set_specs(ctx: RequestContext, share_type_id: str, specs: Mapping[str, Any]) -> dict[str, str]:
    """Add or change extra specs of a type. Return the given specs as they are stored.

    :raises errors.Invalid: a key or a value is wrong, or contradicts another spec of the type.
    """
    stored = type_extra_specs.read(specs)
    with ctx.db.writer() as conn:
        share_type = share_types.get(conn, ctx, share_type_id)
        type_extra_specs.check_complete({**share_type.extra_specs, **stored})
        _must_name_qos_type(conn, stored)
        key_values.merge(conn, share_type_extra_specs, share_type_id, stored)
    return stored


def delete_spec(ctx: RequestContext, share_type_id: str, key: str, needed: frozenset[str]) -> None:
    """Delete one extra spec of a type. ``needed``: specs that cannot be deleted.

    :raises errors.Forbidden: the spec is one of ``needed``.
    :raises errors.NotFound: the type has no such extra spec.
    """
    with ctx.db.writer() as conn:
        share_types.get(conn, ctx, share_type_id)
        if key in needed:
            raise errors.Forbidden(f'extra_specs.{key}: every share type has it; it cannot be deleted.')
        key_values.remove(conn, share_type_extra_specs, share_type_id, key, 'extra spec')
