# SPDX-License-Identifier: Apache-2.0
"""The calls for share instances."""

from collections.abc import Sequence
from typing import Any

from manila_lite import errors, states
from manila_lite.actions import share_replicas as replicas
from manila_lite.actions import shares as actions
from manila_lite.api import versions
from manila_lite.api.framework import shapes
from manila_lite.api.framework.call import PAGE, Body, Call, Field, Many, One, View
from manila_lite.api.framework.handlers import CTX, path, read
from manila_lite.api.request import Request
from manila_lite.api.v2.shares import rules_status
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import export_locations, share_instances, shares


def exports_of(row: Any, req: Request) -> list[str]:
    """Read an instance's export paths, as versions below 2.9 show them."""
    return [export.path for export in req.related.get('exports', {}).get(row.id, ())]


def first_export(row: Any, req: Request) -> str | None:
    """Read the preferred export path."""
    return next(iter(exports_of(row, req)), None)


def index(req: Request) -> list[Any]:
    """List the instances of all shares."""
    return _list(req, req.query)


def index_of_share(req: Request) -> list[Any]:
    """List the instances of a share."""
    with req.ctx.db.reader() as conn:
        share = shares.get(conn, req.ctx, req.params['share_id'], own=True)
    return _list(req, {'share_id': share.id})


def _list(req: Request, filters: dict[str, Any]) -> list[Any]:
    with req.ctx.db.reader() as conn:
        rows = share_instances.list_instances(conn, req.ctx, filters, req.page)
        _load_exports(conn, req, rows)
    return rows


def _load_exports(conn: Connection, req: Request, rows: Sequence[Any]) -> None:
    if req.version < versions.EXPORT_LOCATIONS:
        req.related['exports'] = export_locations.of_instances(conn, [row.id for row in rows])


def reset_status(req: Request) -> None:
    """Set the status of a share instance."""
    share_id = _share_of(req)
    if replicas.is_replica(req.ctx, req.params['share_instance_id']):
        replicas.reset_status(req.ctx, req.params['share_instance_id'], req.body['status'])
    elif not actions.reset_second_instance(req.ctx, req.params['share_instance_id'], req.body['status']):
        actions.reset_status(req.ctx, share_id, req.body['status'])


def force_delete(req: Request) -> None:
    """Delete a share instance in any status. The share goes with it, unless it is a replica or was left by a migration."""
    share_id = _share_of(req)
    if replicas.is_replica(req.ctx, req.params['share_instance_id']):
        replicas.delete(req.ctx, req.params['share_instance_id'], force=True)
    elif not actions.delete_second_instance(req.ctx, req.params['share_instance_id']):
        actions.delete(req.ctx, share_id, force=True)


def _share_of(req: Request) -> str:
    with req.ctx.db.reader() as conn:
        return str(share_instances.get(conn, req.ctx, req.params['share_instance_id']).share_id)


# Fields and calls -------------------------------------------------------------------------------

FIELDS = (
    Field('id', shapes.ID),
    Field('share_id', shapes.ID),
    Field('availability_zone', shapes.NULL_STRING),
    Field('created_at', shapes.TIME),
    Field('host', shapes.NULL_STRING),
    Field('status', {'type': 'string', 'enum': sorted(states.SHARE.statuses)}),
    Field('share_network_id', shapes.NULL_STRING),
    Field('share_server_id', shapes.NULL_STRING),
    Field('export_location', shapes.NULL_STRING, until='2.8', read=first_export),
    Field('export_locations', {'type': 'array', 'items': shapes.STRING}, until='2.8', read=exports_of),
    Field('access_rules_status', shapes.STRING, since='2.10', read=rules_status),
    Field('replica_state', shapes.NULL_STRING, since='2.11'),
    Field('share_type_id', shapes.NULL_STRING, since='2.22'),
    Field('cast_rules_to_readonly', shapes.BOOLEAN, since='2.30'),
    Field('progress', shapes.NULL_STRING, since='2.54'),
    Field('updated_at', shapes.NULL_TIME, since='2.71'),
)

INSTANCE = View('share_instance', 'share_instances', FIELDS)

FILTERS = (
    Field('export_location_id', shapes.STRING, since='2.35'),
    Field('export_location_path', shapes.STRING, since='2.35'),
    *(
        Field(name, shapes.STRING)
        for name in (
            'id',
            'share_id',
            'project_id',
            'host',
            'status',
            'access_rules_status',
            'share_type_id',
            'share_network_id',
            'share_server_id',
        )
    ),
    *PAGE,
)

_ONE = '/share_instances/{share_instance_id}'

CALLS = [
    Call(
        'GET',
        '/share_instances',
        index,
        'share_instance:index',
        Many(INSTANCE, paged=True),
        since='2.3',
        query=FILTERS,
    ),
    Call(
        'GET',
        _ONE,
        read(
            'Show one share instance.',
            share_instances.get,
            CTX,
            path('share_instance_id'),
            name='show',
            load=_load_exports,
        ),
        'share_instance:show',
        One(INSTANCE),
        since='2.3',
    ),
    Call(
        'GET',
        '/shares/{share_id}/instances',
        index_of_share,
        'share_instance:index',
        Many(INSTANCE),
        since='2.3',
    ),
    Call(
        'POST',
        f'{_ONE}/action',
        reset_status,
        'share_instance:reset_status',
        ok=202,
        since='2.3',
        action='reset_status',
        body=Body('reset_status', (Field('status', {'type': 'string'}, required=True),)),
    ),
    Call(
        'POST',
        f'{_ONE}/action',
        force_delete,
        'share_instance:force_delete',
        ok=202,
        since='2.3',
        action='force_delete',
        states=((errors.WrongState, 403),),
    ),
]
