# SPDX-License-Identifier: Apache-2.0
"""What an administrator may do with QoS types: each is one transaction, and done when it returns.

Shares are promised what the QoS type says that their share type names. Backends that keep such promises are told with the
share; what changes afterwards, they are told when the share is next ensured.
"""

import re
from collections.abc import Mapping
from typing import Any

from manila_lite import errors
from manila_lite.context import RequestContext
from manila_lite.db import pairs, qos_types
from manila_lite.db.models import qos_type_specs

_KEY = re.compile(r'[A-Za-z0-9_.:-]{1,255}')


def _read(specs: Mapping[str, Any]) -> dict[str, str]:
    for key in specs:
        if not _KEY.fullmatch(key):
            raise errors.Invalid(f'specs: the key {key!r} must be 1 to 255 letters, digits, _, ., : and -.')
    return {key: str(value) for key, value in specs.items()}


def create(ctx: RequestContext, wanted: Mapping[str, Any]) -> tuple[Any, dict[str, str]]:
    """The QoS type exists. Returns its row and its specs.

    :raises errors.Invalid: a key of the specs is wrong.
    :raises errors.Exists: the name is taken.
    """
    specs = _read(wanted.get('specs') or {})
    with ctx.db.writer() as conn:
        ident = qos_types.create(conn, wanted['name'], wanted.get('description'), specs)
        return qos_types.get(conn, ident), specs


def update(ctx: RequestContext, ident: str, values: Mapping[str, Any]) -> Any:
    """The QoS type has this description. Returns its row.

    :raises errors.Invalid: there is nothing to change.
    """
    if 'description' not in values:
        raise errors.Invalid('qos_type: give a description.')
    with ctx.db.writer() as conn:
        qos_types.get(conn, ident)
        qos_types.update(conn, ident, description=values['description'])
        return qos_types.get(conn, ident)


def delete(ctx: RequestContext, ident: str) -> None:
    """The QoS type is gone, with its specs.

    :raises errors.Conflict: a share type names it.
    """
    with ctx.db.writer() as conn:
        if used := qos_types.users(conn, qos_types.hold(conn, ident)):
            raise errors.Conflict(f'QoS type {ident} is named by share type {used[0]}.', code='qos_type_in_use')
        qos_types.delete(conn, ident)


def set_specs(ctx: RequestContext, ident: str, specs: Mapping[str, Any]) -> dict[str, str]:
    """The QoS type has these specs beside its others. Returns them as they are kept."""
    found = _read(specs)
    with ctx.db.writer() as conn:
        qos_types.get(conn, ident)
        pairs.merge(conn, qos_type_specs, ident, found)
    return found


def delete_spec(ctx: RequestContext, ident: str, key: str) -> None:
    """The spec is gone.

    :raises errors.NotFound: the QoS type has no such spec.
    """
    with ctx.db.writer() as conn:
        qos_types.get(conn, ident)
        pairs.remove(conn, qos_type_specs, ident, key, 'qos spec')
