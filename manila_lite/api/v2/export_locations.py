# SPDX-License-Identifier: Apache-2.0
"""The calls for export locations of shares and of their instances, listed in the order in which clients should try them."""

from typing import Any

from manila_lite.actions import export_locations as actions
from manila_lite.actions import resource_locks
from manila_lite.api import versions
from manila_lite.api.framework import related, shapes
from manila_lite.api.framework.call import Call, Field, Many, One, View
from manila_lite.api.framework.metadata import MetadataCalls, metadata_calls
from manila_lite.api.request import Request
from manila_lite.db import models
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import export_locations, share_instances, share_replicas, shares


def metadata_of(row: Any, req: Request) -> dict[str, str]:
    """Read a location's metadata; ``preferred`` is a field of its own."""
    return {
        key: value for key, value in related.pairs_of(row, req).items() if key != export_locations.PREFERRED
    }


def last_set(row: Any, req: Request) -> Any:
    """Read when the backend last set the location: when it made it, unless it has changed since."""
    return row.updated_at or row.created_at


_load = related.pairs_loader(models.export_location_metadata)


def index(req: Request) -> list[Any]:
    """List the export locations of a share."""
    with req.ctx.db.reader() as conn:
        share = shares.get(conn, resource_locks.lookup_context(req.ctx), req.params['share_id'])
        return show_all(conn, req, *_instances(conn, req, share))


def show(req: Request) -> Any:
    """Show an export location of a share."""
    with req.ctx.db.reader() as conn:
        share = shares.get(conn, req.ctx, req.params['share_id'])
        return show_one(conn, req, req.params['export_location_id'], *_instances(conn, req, share))


def _instances(conn: Connection, req: Request, share: Any) -> list[str]:
    """Return the instances whose locations are listed. Below 2.47 those of replicas are listed last."""
    others = (
        share_replicas.list_non_active(conn, share.id)
        if share.replication_type and req.version < versions.EXPORTS_OF_REPLICAS
        else ()
    )
    return [share.instance_id, *(replica.id for replica in others)]


def index_of_instance(req: Request) -> list[Any]:
    """List the export locations of a share instance."""
    with req.ctx.db.reader() as conn:
        return show_all(conn, req, share_instances.get(conn, req.ctx, req.params['share_instance_id']).id)


def show_of_instance(req: Request) -> Any:
    """Show an export location of a share instance."""
    with req.ctx.db.reader() as conn:
        instance = share_instances.get(conn, req.ctx, req.params['share_instance_id'])
        return show_one(conn, req, req.params['export_location_id'], instance.id)


def show_all(conn: Connection, req: Request, *instance_ids: str) -> list[Any]:
    """Return the export locations of instances that the caller sees, loaded for the view."""
    by_instance = export_locations.of_instances(conn, instance_ids)
    rows = [
        row
        for instance_id in instance_ids
        for row in by_instance.get(instance_id, ())
        if req.ctx.is_admin or not row.is_admin_only
    ]
    _load(conn, req, rows)
    return rows


def show_one(conn: Connection, req: Request, location_id: str, *instance_ids: str) -> Any:
    """Return an export location of instances, loaded for the view."""
    row = export_locations.get(conn, instance_ids, location_id, hidden=bool(req.ctx.is_admin))
    _load(conn, req, [row])
    return row


# Fields and calls -------------------------------------------------------------------------------

SUMMARY_FIELDS = (
    Field('id', shapes.ID),
    Field('path', shapes.STRING),
    Field('preferred', shapes.BOOLEAN, since='2.14'),
    Field('metadata', shapes.PAIRS, since='2.87', read=metadata_of),
    Field('share_instance_id', shapes.ID, rule='context_is_admin'),
    Field('is_admin_only', shapes.BOOLEAN, rule='context_is_admin'),
)

SUMMARY = View('export_location', 'export_locations', SUMMARY_FIELDS)
EXPORT = View(
    'export_location',
    'export_locations',
    (*SUMMARY_FIELDS, Field('created_at', shapes.TIME), Field('updated_at', shapes.TIME, read=last_set)),
)

_ALL = '/shares/{share_id}/export_locations'
_ONE = f'{_ALL}/{{export_location_id}}'
_OF_INSTANCE = '/share_instances/{share_instance_id}/export_locations'

CALLS = [
    Call('GET', _ALL, index, 'share_export_location:index', Many(SUMMARY), since='2.9'),
    Call('GET', _ONE, show, 'share_export_location:show', One(EXPORT), since='2.9'),
    Call(
        'GET',
        _OF_INSTANCE,
        index_of_instance,
        'share_instance_export_location:index',
        Many(SUMMARY),
        since='2.9',
    ),
    Call(
        'GET',
        f'{_OF_INSTANCE}/{{export_location_id}}',
        show_of_instance,
        'share_instance_export_location:show',
        One(EXPORT),
        since='2.9',
    ),
    *metadata_calls(
        _ONE,
        MetadataCalls(actions, ('share_id', 'export_location_id')),
        'share_export_location:{}_metadata',
        since='2.87',
    ),
]
