# SPDX-License-Identifier: Apache-2.0
"""The calls for share replicas."""

from typing import Any, Literal

from manila_lite import errors, states
from manila_lite.actions import share_replicas as actions
from manila_lite.api.framework import related, shapes
from manila_lite.api.framework.call import PAGE, Body, Call, Field, Many, One, View
from manila_lite.api.framework.handlers import BODY, CTX, act, field, path, read, with_pairs
from manila_lite.api.framework.metadata import MetadataCalls, metadata_calls
from manila_lite.api.request import Request
from manila_lite.api.v2.export_locations import metadata_of, show_all, show_one
from manila_lite.db import models
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import share_replicas
from manila_lite.policies.base import CONTEXT_IS_ADMIN


def state_of(row: Any, req: Request) -> str:
    """Read the state of the export location's replica."""
    return str(req.related['replica'].replica_state)


def zone_of(row: Any, req: Request) -> str | None:
    """Read the zone of the export location's replica."""
    zone: str | None = req.related['replica'].availability_zone
    return zone


_load = related.pairs_loader(models.share_instance_metadata)


def index(req: Request) -> list[Any]:
    """List ids, shares and states of share replicas."""
    with req.ctx.db.reader() as conn:
        return _list(conn, req)


def detail(req: Request) -> list[Any]:
    """List share replicas with details."""
    with req.ctx.db.reader() as conn:
        rows = _list(conn, req)
        _load(conn, req, rows)
    return rows


def _list(conn: Connection, req: Request) -> list[Any]:
    # Administrators see replicas of all projects, as with share instances: clients have no filter to ask for them.
    project_id = None if req.ctx.is_admin else req.ctx.project_id or ''
    return share_replicas.list_replicas(conn, req.query, req.page, project_id=project_id)


def _get(conn: Connection, req: Request) -> Any:
    return share_replicas.get(conn, req.ctx, req.params['share_replica_id'])


def promote(req: Request) -> Any | Literal[False]:
    """Promote a replica to be the active one; 200 means that it is active already."""
    row, changes = actions.promote(
        req.ctx, req.params['share_replica_id'], req.body.get('quiesce_wait_time') or 0
    )
    return related.loaded(req, row, _load) if changes else False


def exports(req: Request) -> list[Any]:
    """List the export locations of a replica."""
    with req.ctx.db.reader() as conn:
        row = req.related['replica'] = _get(conn, req)
        return show_all(conn, req, row.id)


def export(req: Request) -> Any:
    """Show one export location of a replica."""
    with req.ctx.db.reader() as conn:
        row = req.related['replica'] = _get(conn, req)
        return show_one(conn, req, req.params['replica_export_location_id'], row.id)


# Fields and calls -------------------------------------------------------------------------------

_STATE = {'type': 'string', 'enum': sorted(state.value for state in states.Replica)}

_FIRST = (
    Field('id', shapes.ID),
    Field('share_id', shapes.ID),
    Field('status', {'type': 'string', 'enum': sorted(states.SHARE.statuses)}),
    Field('replica_state', _STATE),
)
SUMMARY = View('share_replica', 'share_replicas', _FIRST)
REPLICA = View(
    'share_replica',
    'share_replicas',
    (
        *_FIRST,
        Field('availability_zone', shapes.NULL_STRING),
        Field('created_at', shapes.TIME),
        Field('updated_at', shapes.NULL_TIME),
        Field('share_network_id', shapes.NULL_STRING),
        Field('metadata', shapes.PAIRS, since='2.95', read=related.pairs_of),
        Field('share_server_id', shapes.NULL_STRING, rule=CONTEXT_IS_ADMIN),
        Field('host', shapes.NULL_STRING, rule=CONTEXT_IS_ADMIN),
        Field('cast_rules_to_readonly', shapes.BOOLEAN, since='2.30', rule=CONTEXT_IS_ADMIN),
    ),
)

_PLACE = (
    Field('id', shapes.ID),
    Field('path', shapes.STRING),
    Field('preferred', shapes.BOOLEAN),
    Field('metadata', shapes.PAIRS, since='2.87', read=metadata_of),
    Field('replica_state', _STATE, read=state_of),
    Field('availability_zone', shapes.NULL_STRING, read=zone_of),
    Field('share_instance_id', shapes.ID, rule='share_instance:show'),
    Field('is_admin_only', shapes.BOOLEAN, rule='share_instance:show'),
)
PLACE = View('export_location', 'export_locations', _PLACE)
PLACE_IN_FULL = View(
    'export_location',
    'export_locations',
    (*_PLACE, Field('created_at', shapes.TIME), Field('updated_at', shapes.NULL_TIME)),
)


def _pairs(text: str) -> dict[str, str]:
    """Return pairs given as ``a:b,c:d``, as python-manilaclient writes them here, or in braces as elsewhere."""
    if text.lstrip().startswith('{'):
        return shapes.pairs(text)
    hints = dict(part.strip().split(':', 1) for part in text.split(',') if ':' in part)
    if not hints:
        raise ValueError('must be key and value pairs, for instance key:value')
    return hints


CREATE = (
    Field('share_id', shapes.REFERENCE, required=True),
    Field('availability_zone', shapes.NULL_REFERENCE, empty_is_null=True),
    Field(
        'scheduler_hints',
        {
            'type': ['object', 'null'],
            'additionalProperties': False,
            'properties': {'only_host': shapes.NULL_STRING},
        },
        since='2.67',
    ),
    Field('share_network_id', shapes.NULL_REFERENCE, since='2.72', empty_is_null=True),
    Field('metadata', {**shapes.METADATA, 'type': ['object', 'null']}, since='2.95'),
)

FILTERS = (
    *(Field(name, shapes.STRING) for name in ('share_id', 'status', 'replica_state', 'share_network_id')),
    Field('metadata', shapes.STRING, parse=_pairs, since='2.95'),
    *PAGE,
)

_WAIT = {
    'type': ['integer', 'string', 'null'],
    'minimum': 0,
    'maximum': shapes.MAX_INT,
    'pattern': r'^[0-9]{1,10}$',
}
_ONE = '/share-replicas/{share_replica_id}'
_ACTION = f'{_ONE}/action'
_EXPORTS = f'{_ONE}/export-locations'
_BUSY = ((errors.WrongState, 400),)


def _call(*args: Any, since: str = '2.11', **more: Any) -> Call:
    return Call(*args, since=since, experimental_until='2.55', **more)  # type: ignore[misc]


CALLS = [
    _call(
        'GET',
        '/share-replicas',
        index,
        'share_replica:get_all',
        Many(SUMMARY, paged=True, beside=REPLICA.fields),
        query=FILTERS,
    ),
    _call(
        'GET',
        '/share-replicas/detail',
        detail,
        'share_replica:get_all',
        Many(REPLICA, paged=True),
        query=FILTERS,
    ),
    _call(
        'GET',
        _ONE,
        read(
            'Show one share replica.',
            share_replicas.get,
            CTX,
            path('share_replica_id'),
            name='show',
            load=_load,
        ),
        'share_replica:show',
        One(REPLICA),
    ),
    _call(
        'POST',
        '/share-replicas',
        act('Create a share replica.', actions.create, BODY, then=with_pairs),
        'share_replica:create',
        One(REPLICA),
        ok=202,
        states=_BUSY,
        once=True,
        body=Body('share_replica', CREATE, missing=errors.Unprocessable),
    ),
    _call(
        'DELETE',
        _ONE,
        act('Delete a share replica.', actions.delete, path('share_replica_id')),
        'share_replica:delete',
        ok=202,
        states=_BUSY,
    ),
    _call(
        'POST',
        _ACTION,
        act(
            'Delete a share replica, even if its backend cannot delete it.',
            actions.delete,
            path('share_replica_id'),
            name='force_delete',
            force=True,
        ),
        'share_replica:force_delete',
        ok=202,
        action='force_delete',
        states=_BUSY,
    ),
    _call(
        'POST',
        _ACTION,
        promote,
        'share_replica:promote',
        One(REPLICA),
        ok=202,
        or_ok=200,
        action='promote',
        states=_BUSY,
        body=Body(
            'promote', (Field('quiesce_wait_time', _WAIT, since='2.75', parse=shapes.integer),), optional=True
        ),
    ),
    _call(
        'POST',
        _ACTION,
        act(
            'Bring a replica up to date; 200 means that it is the active one.',
            actions.resync,
            path('share_replica_id'),
        ),
        'share_replica:resync',
        ok=202,
        or_ok=200,
        action='resync',
        states=_BUSY,
    ),
    _call(
        'POST',
        _ACTION,
        act(
            'Set the status of a share replica.',
            actions.reset_status,
            path('share_replica_id'),
            field('status'),
        ),
        'share_replica:reset_status',
        ok=202,
        action='reset_status',
        states=_BUSY,
        body=Body('reset_status', (Field('status', shapes.STRING, required=True),)),
    ),
    _call(
        'POST',
        _ACTION,
        act(
            'Set the replica state of a share replica.',
            actions.reset_replica_state,
            path('share_replica_id'),
            field('replica_state'),
        ),
        'share_replica:reset_replica_state',
        ok=202,
        action='reset_replica_state',
        body=Body('reset_replica_state', (Field('replica_state', _STATE, required=True),)),
    ),
    _call('GET', _EXPORTS, exports, 'share_replica_export_location:index', Many(PLACE), since='2.47'),
    _call(
        'GET',
        f'{_EXPORTS}/{{replica_export_location_id}}',
        export,
        'share_replica_export_location:show',
        One(PLACE_IN_FULL),
        since='2.47',
    ),
    *metadata_calls(
        _ONE,
        MetadataCalls(actions.METADATA, ('share_replica_id',)),
        'share_replica:{}_share_replica_metadata',
        since='2.95',
    ),
]
