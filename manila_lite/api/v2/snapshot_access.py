# SPDX-License-Identifier: Apache-2.0
"""The calls for snapshots that can be mounted: their access rules and their export locations."""

from typing import Any

from manila_lite import errors, states
from manila_lite.actions import snapshot_access as actions
from manila_lite.api import versions
from manila_lite.api.framework import shapes
from manila_lite.api.framework.call import Body, Call, Field, Many, One, View
from manila_lite.api.framework.handlers import BODY, act, field, path, since
from manila_lite.api.request import Request
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import snapshot_access, snapshot_instances, snapshots


def index(req: Request) -> list[Any]:
    """List a snapshot's access rules."""
    with req.ctx.db.reader() as conn:
        return snapshot_access.of_snapshot(conn, _snapshot_of_path(conn, req))


def exports(req: Request) -> list[Any]:
    """List the export locations of a snapshot."""
    with req.ctx.db.reader() as conn:
        return _exports(conn, req, _snapshot_of_path(conn, req))


def export(req: Request) -> Any:
    """Show one export location of a snapshot."""
    with req.ctx.db.reader() as conn:
        return _export(conn, req, _snapshot_of_path(conn, req))


def instance_exports(req: Request) -> list[Any]:
    """List the export locations of a snapshot instance."""
    with req.ctx.db.reader() as conn:
        return _exports(conn, req, _snapshot_of_instance(conn, req))


def instance_export(req: Request) -> Any:
    """Show one export location of a snapshot instance."""
    with req.ctx.db.reader() as conn:
        return _export(conn, req, _snapshot_of_instance(conn, req))


def _snapshot_of_path(conn: Connection, req: Request) -> str:
    """Return the id of the snapshot in the path, which the caller sees."""
    return str(snapshots.get(conn, req.ctx, req.params['snapshot_id']).id)


def _snapshot_of_instance(conn: Connection, req: Request) -> str:
    """Return the id of the snapshot whose instance is in the path."""
    return str(snapshot_instances.get(conn, req.ctx, req.params['snapshot_instance_id']).snapshot_id)


def _exports(conn: Connection, req: Request, snapshot_id: str) -> list[Any]:
    return snapshot_access.export_locations_of(conn, snapshot_id, hidden=bool(req.ctx.is_admin))


def _export(conn: Connection, req: Request, snapshot_id: str) -> Any:
    return snapshot_access.get_export_location(
        conn, snapshot_id, req.params['snapshot_export_location_id'], hidden=bool(req.ctx.is_admin)
    )


# Fields and calls -------------------------------------------------------------------------------

ACCESS = View(
    'snapshot_access',
    'snapshot_access_list',
    (
        Field('id', shapes.ID),
        Field('access_type', shapes.STRING),
        Field('access_to', shapes.STRING),
        Field('state', {'type': 'string', 'enum': sorted(states.SNAPSHOT_ACCESS.statuses)}),
        Field('created_at', shapes.TIME),
        Field('updated_at', shapes.NULL_TIME),
    ),
)


_PLACE = (
    Field('id', shapes.ID),
    Field('path', shapes.STRING),
    Field(
        'links',
        shapes.LINKS,
        read=lambda row, req: req.links(f'snapshots/{row.snapshot_id}/export-locations', row.id),
    ),
    # The only instance of a snapshot has the id of the snapshot.
    Field('share_snapshot_instance_id', shapes.ID, read='snapshot_id', rule='context_is_admin'),
    Field('is_admin_only', shapes.BOOLEAN, rule='context_is_admin'),
)
SUMMARY = View('share_snapshot_export_location', 'share_snapshot_export_locations', _PLACE)
PLACE = View(
    'share_snapshot_export_location',
    'share_snapshot_export_locations',
    (*_PLACE, Field('created_at', shapes.TIME), Field('updated_at', shapes.NULL_TIME)),
)

ALLOW = (
    Field('access_type', {'type': 'string', 'enum': ['ip', 'user', 'cert']}, required=True),
    Field('access_to', {'type': 'string', 'maxLength': 255}, required=True),
)
DENY = (Field('access_id', {'type': 'string', 'minLength': 1}, required=True),)

_BUSY = ((errors.WrongState, 400),)
_ONE = '/snapshots/{snapshot_id}'
_EXPORTS = f'{_ONE}/export-locations'
_OF_INSTANCE = '/snapshot-instances/{snapshot_instance_id}/export-locations'
_ID = '{snapshot_export_location_id}'

CALLS = [
    Call(
        'POST',
        f'{_ONE}/action',
        act(
            'Add an access rule to a snapshot.',
            actions.allow,
            path('snapshot_id'),
            BODY,
            ipv6=since(versions.IPV6_RULES),
        ),
        'share_snapshot:allow_access',
        One(ACCESS),
        ok=202,
        since='2.32',
        action='allow_access',
        body=Body('allow_access', ALLOW, strict=True),
        once=True,
    ),
    Call(
        'POST',
        f'{_ONE}/action',
        act('Remove an access rule of a snapshot.', actions.deny, path('snapshot_id'), field('access_id')),
        'share_snapshot:deny_access',
        ok=202,
        since='2.32',
        action='deny_access',
        states=_BUSY,
        body=Body('deny_access', DENY, strict=True),
    ),
    Call('GET', f'{_ONE}/access-list', index, 'share_snapshot:access_list', Many(ACCESS), since='2.32'),
    Call('GET', _EXPORTS, exports, 'share_snapshot_export_location:index', Many(SUMMARY), since='2.32'),
    Call('GET', f'{_EXPORTS}/{_ID}', export, 'share_snapshot_export_location:show', One(PLACE), since='2.32'),
    Call(
        'GET',
        _OF_INSTANCE,
        instance_exports,
        'share_snapshot_instance_export_location:index',
        Many(SUMMARY),
        since='2.32',
    ),
    Call(
        'GET',
        f'{_OF_INSTANCE}/{_ID}',
        instance_export,
        'share_snapshot_instance_export_location:show',
        One(PLACE),
        since='2.32',
    ),
]
