# SPDX-License-Identifier: Apache-2.0
"""Share instances for administrators. Shares with their instance are in ``db/queries/shares.py``."""

from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from manila_lite import context
from manila_lite.db import models
from manila_lite.db.core import paging
from manila_lite.db.core.rows import get_row

_instances = models.share_instances
_shares = models.shares
_zones = models.availability_zones
_exports = models.export_locations

_INTERNAL = ('copy_client', 'copy_client_key')
#: All columns that a list may be sorted by.
SORTABLE = {
    **{column.name: column for column in _instances.c if column.key not in _INTERNAL},
    'availability_zone': _zones.c.name,
}

_EQUAL = {
    **{
        name: _instances.c[name]
        for name in (
            'id',
            'share_id',
            'host',
            'status',
            'access_rules_status',
            'share_type_id',
            'share_network_id',
            'share_server_id',
        )
    },
    'project_id': _shares.c.project_id,
}
_EXPORT = {'export_location_id': _exports.c.id, 'export_location_path': _exports.c.path}


def _select() -> sa.Select[Any]:
    return (
        sa.select(*_instances.c, _zones.c.name.label('availability_zone'))
        .join(_shares, _shares.c.id == _instances.c.share_id)
        .outerjoin(_zones, _zones.c.id == _instances.c.availability_zone_id)
    )


def _mine(ctx: context.RequestContext) -> list[sa.ColumnElement[bool]]:
    return [] if ctx.is_admin else [_shares.c.project_id == ctx.project_id, ~_shares.c.deletion_deferred]


def get(conn: Connection, ctx: context.RequestContext, instance_id: str) -> Row[Any]:
    """Return an instance of a share of the caller's project (of any, for an administrator).

    :raises errors.NotFound: there is none.
    """
    return get_row(
        conn, _select().where(_instances.c.id == instance_id, *_mine(ctx)), 'share instance', instance_id
    )


def list_instances(
    conn: Connection, ctx: context.RequestContext, filters: dict[str, Any], page: paging.Page
) -> list[Row[Any]]:
    """Return instances as ``get`` does; filters by columns, ``project_id`` and export location (id or path)."""
    query = _select().where(*_mine(ctx), *paging.conditions(filters, _EQUAL, _EQUAL))
    for key, column in _EXPORT.items():
        if filters.get(key) is not None:
            query = query.where(
                sa.exists().where(_exports.c.share_instance_id == _instances.c.id, column == filters[key])
            )
    return list(conn.execute(page.apply(query, SORTABLE, tie=_instances.c.id)).all())
