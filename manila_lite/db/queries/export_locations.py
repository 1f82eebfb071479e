# SPDX-License-Identifier: Apache-2.0
"""Single export locations and their metadata. ``db/queries/shares.py`` lists them by instance, and stores them.

The metadata key ``preferred`` is the column of that name; lists show it with each location.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from oslo_utils import strutils
from sqlalchemy.engine import Connection, Row

from manila_lite import errors
from manila_lite.db import models
from manila_lite.db.core import key_values
from manila_lite.db.core.rows import get_row

_exports = models.export_locations
_metadata = models.export_location_metadata

PREFERRED = 'preferred'


def get(conn: Connection, instance_ids: Sequence[str], location_id: str, *, hidden: bool = False) -> Row[Any]:
    """Return an export location of one of these instances; with ``hidden``, also one that only administrators see.

    :raises errors.NotFound: there is none.
    """
    query = sa.select(_exports).where(
        _exports.c.id == location_id, _exports.c.share_instance_id.in_(instance_ids)
    )
    if not hidden:
        query = query.where(sa.not_(_exports.c.is_admin_only))
    return get_row(conn, query, 'export location', location_id)


def metadata(conn: Connection, row: Row[Any]) -> dict[str, str]:
    """Return all metadata of a location, including ``preferred``."""
    return {**key_values.of(conn, _metadata, row.id), PREFERRED: str(row.preferred)}


def set_metadata(
    conn: Connection,
    location_id: str,
    values: Mapping[str, str],
    *,
    replace: bool,
    keep: list[str],
    conf: Any,
) -> None:
    """Set these pairs of the location. With ``replace``, delete its other pairs, except for the keys ``keep``.

    :raises errors.Invalid: ``preferred`` is neither true nor false.
    :raises errors.OverLimit: it would have too many pairs.
    """
    values = dict(values)
    preferred = values.pop(PREFERRED, None)
    if replace:
        key_values.replace(conn, _metadata, location_id, values, keep, conf)
    else:
        key_values.merge(conn, _metadata, location_id, values, conf)
    if preferred is not None:
        _prefer(conn, location_id, _flag(preferred))
    elif replace and PREFERRED not in keep:
        _prefer(conn, location_id, False)


def delete_metadata(conn: Connection, location_id: str, key: str) -> None:
    """Delete the pair. Deleting ``preferred`` sets it to false.

    :raises errors.NotFound: the location has no such key.
    """
    if key == PREFERRED:
        _prefer(conn, location_id, False)
    else:
        key_values.remove(conn, _metadata, location_id, key)


def _prefer(conn: Connection, location_id: str, yes: bool) -> None:
    conn.execute(_exports.update().where(_exports.c.id == location_id).values(preferred=yes))


def _flag(text: str) -> bool:
    try:
        return strutils.bool_from_string(text, strict=True)
    except ValueError:
        raise errors.Invalid(f'metadata: {PREFERRED}: {text!r} is neither true nor false.') from None
