# SPDX-License-Identifier: Apache-2.0
"""Actions on QoS types. Each is one transaction, and complete when it returns.

A share type names a QoS type, whose specs apply to its shares. Backends that support QoS get the specs with the share.
Later changes reach a backend when the share is next ensured.
"""

from collections.abc import Mapping
from typing import Any

from manila_lite import errors
from manila_lite.actions.type_extra_specs import check_key
from manila_lite.context import RequestContext
from manila_lite.db.core import key_values
from manila_lite.db.core.engine import Row
from manila_lite.db.models import qos_type_specs
from manila_lite.db.queries import qos_types


def _read(specs: Mapping[str, Any]) -> dict[str, str]:
    return {check_key(key, 'specs'): str(value) for key, value in specs.items()}


def create(ctx: RequestContext, wanted: Mapping[str, Any]) -> tuple[Any, dict[str, str]]:
    """Create a QoS type. Return its row and its specs.

    :raises errors.Invalid: a key of the specs is wrong.
    :raises errors.Exists: the name is taken.
    """
    specs = _read(wanted.get('specs') or {})
    with ctx.db.writer() as conn:
        qos_type_id = qos_types.create(conn, wanted['name'], wanted.get('description'), specs)
        return qos_types.get(conn, qos_type_id), specs


def update(ctx: RequestContext, qos_type_id: str, values: Mapping[str, Any]) -> Row[Any]:
    """Change a QoS type's description. Return its row.

    :raises errors.Invalid: no description is given.
    """
    if 'description' not in values:
        raise errors.Invalid('qos_type: give a description.')
    with ctx.db.writer() as conn:
        qos_types.get(conn, qos_type_id)
        qos_types.update(conn, qos_type_id, description=values['description'])
        return qos_types.get(conn, qos_type_id)


def delete(ctx: RequestContext, qos_type_id: str) -> None:
    """Delete a QoS type with its specs.

    :raises errors.Conflict: a share type names the QoS type.
    """
    with ctx.db.writer() as conn:
        if used := qos_types.share_types_of(conn, qos_types.get_and_lock(conn, qos_type_id)):
            raise errors.Conflict(
                f'QoS type {qos_type_id} is named by share type {used[0]}.', code='qos_type_in_use'
            )
        qos_types.delete(conn, qos_type_id)


def set_specs(ctx: RequestContext, qos_type_id: str, specs: Mapping[str, Any]) -> dict[str, str]:
    """Add or change specs of a QoS type. Return the given specs as they are stored."""
    stored = _read(specs)
    with ctx.db.writer() as conn:
        qos_types.get(conn, qos_type_id)
        key_values.merge(conn, qos_type_specs, qos_type_id, stored)
    return stored


def delete_spec(ctx: RequestContext, qos_type_id: str, key: str) -> None:
    """Delete one spec of a QoS type.

    :raises errors.NotFound: the QoS type has no such spec.
    """
    with ctx.db.writer() as conn:
        qos_types.get(conn, qos_type_id)
        key_values.remove(conn, qos_type_specs, qos_type_id, key, 'QoS spec')
