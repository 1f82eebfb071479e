# SPDX-License-Identifier: Apache-2.0
"""The calls for shares."""

from collections.abc import Sequence
from typing import Any

from manila_lite import errors, key_manager, states
from manila_lite.actions import encryption, share_creation, share_migration, type_extra_specs
from manila_lite.actions import shares as actions
from manila_lite.api import versions
from manila_lite.api.framework import related, shapes
from manila_lite.api.framework.call import PAGE, Body, Call, Field, Many, One, View
from manila_lite.api.framework.handlers import BODY, CTX, act, field, loaded, path, query, read, with_pairs
from manila_lite.api.framework.metadata import MetadataCalls, metadata_calls
from manila_lite.api.request import Request
from manila_lite.db import models
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import export_locations, share_replicas, shares

# Reading rows -----------------------------------------------------------------------------------


def exports_of(row: Any, req: Request) -> list[str]:
    """Read a share's export paths, as versions below 2.9 show them."""
    return [
        export.path
        for export in req.related.get('exports', {}).get(row.instance_id, ())
        if not export.is_admin_only or req.ctx.is_admin
    ]


def first_export(row: Any, req: Request) -> str | None:
    """Read the preferred export path."""
    return next(iter(exports_of(row, req)), None)


def rules_status(row: Any, req: Request) -> str:
    """Read the state of all access rules together. Below 2.28 ``syncing`` is shown as ``out_of_sync``."""
    if req.version < versions.STATES_OF_RULES and row.access_rules_status == states.Rules.SYNCING:
        return 'out_of_sync'
    return str(row.access_rules_status)


def has_replicas(row: Any, req: Request) -> bool:
    """Read whether the share has a replica beside the active one; looked up for all rows at once."""
    return row.id in req.related.get('replicated', ())


_load_metadata = related.pairs_loader(models.share_metadata)


def load_related(conn: Connection, req: Request, rows: Sequence[Any]) -> None:
    """Load metadata, replication and, below 2.9, the export locations of shares for the view."""
    _load_metadata(conn, req, rows)
    if named := [row.id for row in rows if row.replication_type]:
        req.related['replicated'] = share_replicas.filter_replicated(conn, named)
    if req.version < versions.EXPORT_LOCATIONS:
        req.related['exports'] = export_locations.of_instances(conn, [row.instance_id for row in rows])


#: Filters by export locations. Users do not see those that are for administrators only.
_BY_EXPORT = {'export_location_id', 'export_location_path'}

# Lists ------------------------------------------------------------------------------------------


def index(req: Request) -> list[Any]:
    """List ids and names of shares."""
    return _list(req, detail=False)


def detail(req: Request) -> list[Any]:
    """List shares with details."""
    return _list(req, detail=True)


def _list(req: Request, *, detail: bool) -> list[Any]:
    filters = dict(req.query)
    scope: dict[str, Any] = {'project_id': related.choose_project(req, filters, 'share:list_all_projects')}
    if filters.get('share_server_id') is not None and req.ctx.is_admin:
        scope['project_id'] = None  # all shares of the server, of any project
    public = filters.pop('is_public', None)
    if not _BY_EXPORT.isdisjoint(filters):
        filters['admin_exports'] = req.ctx.is_admin
    scope['deferred'] = req.may('share:list_shares_in_deferred_deletion_states')
    with req.ctx.db.reader() as conn:
        rows = shares.list_shares(conn, filters, req.page, public=bool(public), **scope)
        if filters.get('with_count'):
            req.count = shares.count(conn, filters, public=bool(public), **scope)
        if detail:
            load_related(conn, req, rows)
    return rows


# One share --------------------------------------------------------------------------------------


def create(req: Request) -> Any:
    """Create a share."""
    if key := req.body.get('encryption_key_ref'):
        key_manager.vet(req.ctx, req.raw.headers.get('X-Auth-Token'), key)
    return with_pairs(
        req,
        share_creation.create(req.ctx, {**req.body, 'zones_of_type': req.version >= versions.ZONES_OF_TYPES}),
    )


def reset_task_state(req: Request) -> None:
    """Set the task state of a share, or, without the right to do so, change nothing and name the ignored field."""
    if not req.may('share:reset_task_state'):
        with req.ctx.db.reader() as conn:
            shares.get(conn, req.ctx, req.params['share_id'], own=True)
        req.ignored.append('reset_task_state.task_state')
        return
    share_migration.reset_task_state(req.ctx, req.params['share_id'], req.body.get('task_state'))


def extend(req: Request) -> None:
    """Extend a share."""
    force = bool(req.body.get('force'))
    if force and not req.may('share:force_extend'):
        raise errors.Forbidden("force: only administrators may extend past the pool's capacity.")
    actions.extend(req.ctx, req.params['share_id'], req.body['new_size'], force=force)


# Fields and calls -------------------------------------------------------------------------------

_STATUS = {'type': 'string', 'enum': sorted(states.SHARE.statuses)}

FIELDS = (
    Field('id', shapes.ID),
    Field('size', {'type': 'integer'}),
    Field('availability_zone', shapes.NULL_STRING),
    Field('created_at', shapes.TIME),
    Field('status', _STATUS),
    Field('name', shapes.NAME),
    Field('description', shapes.NAME),
    Field('project_id', {'type': 'string'}),
    Field('snapshot_id', shapes.NULL_STRING),
    Field('share_network_id', shapes.NULL_STRING),
    Field('share_proto', {'type': 'string'}),
    Field('metadata', shapes.PAIRS, read=related.pairs_of),
    Field('share_type', shapes.NULL_STRING, until='2.5', read='share_type_name'),
    Field('share_type', shapes.NULL_STRING, since='2.6', read='share_type_id'),
    Field('share_type_name', shapes.NULL_STRING, since='2.6'),
    Field('volume_type', shapes.NULL_STRING, read='share_type_name'),
    Field('is_public', shapes.BOOLEAN),
    Field('snapshot_support', shapes.BOOLEAN, since='2.2'),
    Field('task_state', shapes.NULL_STRING, since='2.5'),
    Field('export_location', shapes.NULL_STRING, until='2.8', read=first_export),
    Field('export_locations', {'type': 'array', 'items': {'type': 'string'}}, until='2.8', read=exports_of),
    Field('access_rules_status', {'type': 'string'}, since='2.10', read=rules_status),
    Field('replication_type', shapes.NULL_STRING, since='2.11'),
    Field('has_replicas', shapes.BOOLEAN, since='2.11', read=has_replicas),
    Field('user_id', shapes.NULL_STRING, since='2.16'),
    Field('create_share_from_snapshot_support', shapes.BOOLEAN, since='2.24'),
    Field('revert_to_snapshot_support', shapes.BOOLEAN, since='2.27'),
    Field('share_group_id', shapes.NULL_STRING, since='2.31'),
    Field('source_share_group_snapshot_member_id', shapes.NULL_STRING, since='2.31'),
    Field('mount_snapshot_support', shapes.BOOLEAN, since='2.32'),
    Field('progress', shapes.NULL_STRING, since='2.54'),
    Field('is_soft_deleted', shapes.BOOLEAN, since='2.69'),
    Field('scheduled_to_be_deleted_at', shapes.NULL_TIME, since='2.69'),
    Field('source_backup_id', shapes.NULL_STRING, since='2.80'),
    Field('mount_point_name', shapes.NULL_STRING, since='2.84'),
    Field('encryption_key_ref', shapes.NULL_STRING, since='2.90'),
    Field('snapshot_inherit_share_access_support', shapes.BOOLEAN, since='2.99'),
    Field('host', shapes.NULL_STRING, rule='share:show_host'),
    Field('share_server_id', shapes.NULL_STRING, rule='share:show_host'),
)

SHARE = View('share', 'shares', FIELDS, 'shares')
SUMMARY = View('share', 'shares', (Field('id', shapes.ID), Field('name', shapes.NAME)), 'shares')


def _hints(*names: str) -> dict[str, object]:
    return {
        'type': ['object', 'null'],
        'additionalProperties': False,
        'properties': dict.fromkeys(names, shapes.NULL_STRING),
    }


_AFFINITY = ('same_host', 'different_host')

CREATE = (
    Field('size', {**shapes.SIZE, 'type': ['integer', 'string', 'null']}, parse=shapes.integer),
    Field('share_proto', {'type': ['string', 'null'], 'maxLength': 32}, empty_is_null=True),
    Field('name', shapes.NAME, aliases=('display_name',)),
    Field('description', shapes.NAME, aliases=('display_description',)),
    Field('share_type', shapes.NULL_REFERENCE, aliases=('volume_type', 'share_type_id'), empty_is_null=True),
    Field('snapshot_id', shapes.NULL_REFERENCE, empty_is_null=True),
    Field('share_network_id', shapes.NULL_REFERENCE, empty_is_null=True),
    Field('is_public', shapes.NULL_FLAG, parse=shapes.flag),
    Field('metadata', {**shapes.METADATA, 'type': ['object', 'null']}),
    Field('availability_zone', shapes.NULL_REFERENCE, empty_is_null=True),
    Field('share_group_id', shapes.NULL_REFERENCE, since='2.31', empty_is_null=True),
    Field('source_share_group_snapshot_member_id', {'type': 'null'}, since='2.31'),
    Field('consistency_group_id', {'type': 'null'}),
    Field('scheduler_hints', _hints(*_AFFINITY), since='2.65', until='2.66'),
    Field('scheduler_hints', _hints(*_AFFINITY, 'only_host'), since='2.67'),
    Field(
        'mount_point_name',
        {'type': ['string', 'null'], 'maxLength': 255, 'pattern': '^[A-Za-z0-9_-]*$'},
        since='2.84',
        empty_is_null=True,
    ),
    Field(
        'encryption_key_ref',
        shapes.NULL_UUID,
        since='2.90',
        parse=encryption.canonical_id,
        empty_is_null=True,
    ),
)

UPDATE = (
    Field('name', shapes.NAME, aliases=('display_name',)),
    Field('description', shapes.NAME, aliases=('display_description',)),
    Field('is_public', shapes.FLAG, parse=shapes.flag),
)

FILTERS = (
    Field('name', {'type': 'string'}, aliases=('display_name',)),
    Field('description', {'type': 'string'}, aliases=('display_description',), since='2.36'),
    Field('status', {'type': 'string'}),
    Field('share_type_id', {'type': 'string'}),
    Field('snapshot_id', {'type': 'string'}),
    Field('host', {'type': 'string'}, rule='share:list_by_host'),
    Field('share_network_id', {'type': 'string'}),
    Field('share_server_id', {'type': 'string'}, rule='share:list_by_share_server_id'),
    Field('is_public', shapes.FLAG, parse=shapes.flag),
    Field('metadata', {'type': 'string'}, parse=shapes.pairs),
    Field('extra_specs', {'type': 'string'}, parse=shapes.pairs, hidden=type_extra_specs.hidden),
    Field('project_id', {'type': 'string'}),
    Field('user_id', {'type': 'string'}),
    Field('all_tenants', shapes.FLAG, parse=shapes.flag, aliases=('all_projects',)),
    Field('share_group_id', {'type': 'string'}, since='2.31'),
    Field('export_location_id', {'type': 'string'}, since='2.35'),
    Field('export_location_path', {'type': 'string'}, since='2.35'),
    Field('name~', {'type': 'string'}, since='2.36', aliases=('display_name~',)),
    Field('description~', {'type': 'string'}, since='2.36', aliases=('display_description~',)),
    Field('with_count', shapes.FLAG, parse=shapes.flag, since='2.42'),
    Field('is_soft_deleted', shapes.FLAG, parse=shapes.flag, since='2.69'),
    Field('mount_point_name', {'type': 'string'}, since='2.84'),
    Field('encryption_key_ref', {'type': 'string'}, since='2.90', parse=encryption.canonical_id),
    Field('availability_zone', {'type': 'string'}, since='2.97'),
    *PAGE,
)

_NEW_SIZE = Field('new_size', shapes.SIZE, parse=shapes.integer, required=True)
_BUSY_DELETE = ((errors.WrongState, 403),)
_BUSY = ((errors.WrongState, 400),)
_ACTION = '/shares/{share_id}/action'
_ANY_SIZE = {'type': 'object', 'additionalProperties': {'type': 'string'}}

_TASK_STATE = {
    'enum': [
        None,
        *(state.value for state in states.Migration if state not in states.BY_HOST),
        *(state.value for state in states.BY_HOST),
        'data_copying_cancelled',
        'data_copying_error',
    ]
}

CALLS = [
    Call(
        'GET',
        '/shares',
        index,
        'share:get_all',
        Many(SUMMARY, counted=True, paged=True, beside=FIELDS),
        query=FILTERS,
    ),
    Call(
        'GET', '/shares/detail', detail, 'share:get_all', Many(SHARE, counted=True, paged=True), query=FILTERS
    ),
    Call(
        'GET',
        '/shares/{share_id}',
        read('Show one share.', shares.get, CTX, path('share_id'), name='show', load=load_related),
        'share:get',
        One(SHARE),
    ),
    Call(
        'POST',
        '/shares',
        create,
        'share:create',
        One(SHARE),
        body=Body('share', CREATE, missing=errors.Unprocessable),
        once=True,
    ),
    Call(
        'PUT',
        '/shares/{share_id}',
        act(
            'Change the name, description or visibility of a share.',
            actions.update,
            path('share_id'),
            BODY,
            then=loaded(load_related),
        ),
        'share:update',
        One(SHARE),
        body=Body('share', UPDATE, missing=errors.Unprocessable),
    ),
    Call(
        'DELETE',
        '/shares/{share_id}',
        act('Delete a share.', actions.delete, path('share_id'), group_id=query('share_group_id')),
        'share:delete',
        ok=202,
        states=_BUSY_DELETE,
        query=(Field('share_group_id', {'type': 'string'}),),
    ),
    Call(
        'POST',
        _ACTION,
        act(
            'Delete a share in any status.', actions.delete, path('share_id'), name='force_delete', force=True
        ),
        'share:force_delete',
        ok=202,
        action='force_delete',
        states=_BUSY_DELETE,
    ),
    Call(
        'POST',
        _ACTION,
        act('Set the status of a share.', actions.reset_status, path('share_id'), field('status')),
        'share:reset_status',
        ok=202,
        action='reset_status',
        body=Body('reset_status', (Field('status', {'type': 'string'}, required=True),), strict=True),
    ),
    Call(
        'POST',
        _ACTION,
        reset_task_state,
        'share:reset_task_state',
        ok=202,
        action='reset_task_state',
        since='2.22',
        # python-manilaclient sends it with each "share set".
        courtesy=({'task_state': None}, 'share:update'),
        body=Body('reset_task_state', (Field('task_state', _TASK_STATE),), strict=True),
    ),
    Call(
        'POST',
        _ACTION,
        extend,
        'share:extend',
        ok=202,
        action='extend',
        # Manila gives replicas too large the usual status, and the share itself another.
        states=(*_BUSY, (errors.OverQuota, 403), (errors.OverReplicaQuota, 413)),
        body=Body(
            'extend', (_NEW_SIZE, Field('force', shapes.FLAG, since='2.64', parse=shapes.flag)), strict=True
        ),
    ),
    Call(
        'POST',
        _ACTION,
        act('Shrink a share.', actions.shrink, path('share_id'), field('new_size')),
        'share:shrink',
        ok=202,
        action='shrink',
        states=_BUSY,
        body=Body('shrink', (_NEW_SIZE,), strict=True),
    ),
    Call(
        'POST',
        _ACTION,
        act('Revert a share to its latest snapshot.', actions.revert, path('share_id'), field('snapshot_id')),
        'share:revert_to_snapshot',
        ok=202,
        action='revert',
        since='2.27',
        states=((errors.WrongState, 409), (errors.OverQuota, 403)),
        body=Body('revert', (Field('snapshot_id', shapes.REFERENCE, required=True),), strict=True),
    ),
    *metadata_calls(
        '/shares/{share_id}',
        MetadataCalls(actions.METADATA, ('share_id',)),
        'share:{}_share_metadata',
        shown=_ANY_SIZE,
    ),
]
