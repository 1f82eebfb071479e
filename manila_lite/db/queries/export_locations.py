# SPDX-License-Identifier: Apache-2.0
"""Export locations of share instances, and their metadata.

The metadata key ``preferred`` is the column of that name; lists show it with each location.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from oslo_utils import strutils, uuidutils
from sqlalchemy.engine import Connection, Row

from manila_lite import errors, values
from manila_lite.db import models
from manila_lite.db.core import key_values
from manila_lite.db.core.prepared import Among, Write
from manila_lite.db.core.rows import get_row, group_rows

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


_EXPORTS_OF = Among(
    sa.select(_exports, _metadata.c.value.label(values.MOUNT_OPTIONS))
    .outerjoin(
        _metadata, sa.and_(_metadata.c.owner_id == _exports.c.id, _metadata.c.key == values.MOUNT_OPTIONS)
    )
    .order_by(_exports.c.share_instance_id, _exports.c.position),
    _exports.c.share_instance_id,
    named=True,
)


def of_instances(conn: Connection, instance_ids: Iterable[str]) -> dict[str, list[Row[Any]]]:
    """Return the export locations of instances, with their ``mount_options``, by instance id, in the order in which clients
    should try them.
    """
    return group_rows(_EXPORTS_OF.all(conn, tuple(instance_ids)), 'share_instance_id')


_KEPT_EXPORT = Write(
    _exports.update()
    .where(_exports.c.id == sa.bindparam('location_id'))
    .values(
        {
            name: sa.bindparam(f'new_{name}', type_=_exports.c[name].type)
            for name in ('position', 'preferred', 'is_admin_only')
        }
    )
)
_ADD_EXPORT, _ADD_EXPORT_PAIR = Write(_exports.insert()), Write(_metadata.insert())


def set_of_instances(
    conn: Connection, wanted: Mapping[str, Iterable[values.ExportLocation]], *, new: bool = False
) -> None:
    """Set the export locations of instances, by id, in the same number of statements for any number. A path that stays keeps
    its id, and its metadata but the mount options. ``new``: none of them has any yet.
    """
    old = (
        {}
        if new
        else {
            (row.share_instance_id, row.path): row
            for rows in of_instances(conn, wanted).values()
            for row in rows
        }
    )
    fresh: list[dict[str, Any]] = []
    pairs_of: list[dict[str, Any]] = []
    changed: list[dict[str, Any]] = []
    stale: list[str] = []
    for instance_id, locations in wanted.items():
        for position, location in enumerate(locations):
            columns = {
                'position': position,
                'preferred': location.preferred,
                'is_admin_only': location.is_admin_only,
            }
            row = old.pop((instance_id, location.path), None)
            if row is None:
                location_id = uuidutils.generate_uuid()
                fresh.append(
                    {'id': location_id, 'share_instance_id': instance_id, 'path': location.path, **columns}
                )
                pairs_of += [
                    {'owner_id': location_id, 'key': key, 'value': value}
                    for key, value in location.metadata.items()
                ]
                continue
            if (row.position, row.preferred, row.is_admin_only) != tuple(columns.values()):
                changed.append(
                    {'location_id': row.id, **{f'new_{name}': value for name, value in columns.items()}}
                )
            if (row.mount_options or '') != location.mount_options:
                stale.append(row.id)
                pairs_of += (
                    [{'owner_id': row.id, 'key': values.MOUNT_OPTIONS, 'value': location.mount_options}]
                    if location.mount_options
                    else []
                )
    if stale:
        conn.execute(
            _metadata.delete().where(_metadata.c.owner_id.in_(stale), _metadata.c.key == values.MOUNT_OPTIONS)
        )
    if old:
        conn.execute(_exports.delete().where(_exports.c.id.in_([row.id for row in old.values()])))
    for statement, rows in ((_KEPT_EXPORT, changed), (_ADD_EXPORT, fresh), (_ADD_EXPORT_PAIR, pairs_of)):
        statement.execute_many(conn, rows)
