# SPDX-License-Identifier: Apache-2.0
"""QoS types, and the share types that refer to them."""

from collections.abc import Iterable, Mapping
from typing import Any

import sqlalchemy as sa
from oslo_db import exception as db_exception
from oslo_utils import uuidutils
from sqlalchemy.engine import Connection, Row

from manila_lite import errors
from manila_lite.db import models
from manila_lite.db.core import key_values, paging, row_locks
from manila_lite.db.core.rows import deleter, get_row, updater

_types = models.qos_types
_specs = models.qos_type_specs
_type_specs = models.share_type_extra_specs

#: The extra spec by which a share type refers to a QoS type, by name or id.
NAMED_BY = 'default_qos_type'
#: All columns that a list may be sorted by.
SORTABLE = {column.name: column for column in _types.c}


def get(conn: Connection, qos_type_id: str) -> Row[Any]:
    """Return a QoS type.

    :raises errors.NotFound: there is none.
    """
    return get_row(conn, sa.select(_types).where(_types.c.id == qos_type_id), 'QoS type', qos_type_id)


def get_and_lock(conn: Connection, qos_type_id: str) -> Row[Any]:
    """Return a QoS type and lock it: it cannot be changed, deleted or referred to (``find``) until the transaction ends."""
    row_locks.certify(conn, _types, _types.c.id == qos_type_id)
    return get_row(
        conn, sa.select(_types).where(_types.c.id == qos_type_id).with_for_update(), 'QoS type', qos_type_id
    )


def find(conn: Connection, wanted: str) -> Row[Any] | None:
    """Return the QoS type with that id, or else that name, or None. It cannot be deleted until the transaction ends."""
    named = sa.or_(_types.c.id == wanted, _types.c.name == wanted)
    row_locks.certify(conn, _types, named)
    rows = {row.id: row for row in conn.execute(sa.select(_types).where(named).with_for_update(read=True))}
    return rows.get(wanted) or next(iter(rows.values()), None)


def is_known(conn: Connection, wanted: str) -> bool:
    """Say whether there is a QoS type with that id or name."""
    return bool(_idents(conn, (wanted,)))


def list_types(conn: Connection, filters: Mapping[str, Any], page: paging.Page) -> list[Row[Any]]:
    """Return QoS types, filtered by ``name`` and ``description``, and by both with ``~`` for a part of it."""
    texts = ('name', 'description')
    query = sa.select(_types).where(*paging.conditions(filters, _types.c, texts, texts))
    return list(conn.execute(page.apply(query, SORTABLE, tie=_types.c.id)).all())


def create(conn: Connection, name: str, description: str | None, specs: Mapping[str, str]) -> str:
    """Create the QoS type. Return its id.

    :raises errors.Exists: the name is taken.
    """
    qos_type_id = uuidutils.generate_uuid()
    try:
        conn.execute(_types.insert().values(id=qos_type_id, name=name, description=description))
    except db_exception.DBDuplicateEntry:
        raise errors.Exists(f'name: a QoS type named {name!r} exists already.') from None
    key_values.insert(conn, _specs, qos_type_id, specs)
    return qos_type_id


#: Set these values of the QoS type.
update = updater(_types)


#: Delete the QoS type with its specs.
delete = deleter(_types)


def share_types_of(conn: Connection, row: Row[Any]) -> list[str]:
    """Return the ids of the share types that refer to it."""
    return list(
        conn.execute(
            sa.select(_type_specs.c.owner_id).where(
                _type_specs.c.key == NAMED_BY, _type_specs.c.value.in_((row.id, row.name))
            )
        ).scalars()
    )


def specs_of_many(
    conn: Connection, extra_specs_by_type: Mapping[str, Mapping[str, str]]
) -> dict[str, dict[str, str]]:
    """Return the QoS specs of shares of types with these extra specs, in two statements; in none if no type refers to a QoS
    type.
    """
    named = {key: specs[NAMED_BY] for key, specs in extra_specs_by_type.items() if NAMED_BY in specs}
    if not named:
        return {}
    type_ids = _idents(conn, named.values())
    specs = key_values.of_many(conn, _specs, type_ids.values())
    return {key: specs.get(type_ids[wanted], {}) for key, wanted in named.items() if wanted in type_ids}


def _idents(conn: Connection, wanted: Iterable[str]) -> dict[str, str]:
    names = tuple(set(wanted))
    rows = list(
        conn.execute(
            sa.select(_types.c.id, _types.c.name).where(
                sa.or_(_types.c.id.in_(names), _types.c.name.in_(names))
            )
        )
    )
    return {row.name: row.id for row in rows} | {row.id: row.id for row in rows}
