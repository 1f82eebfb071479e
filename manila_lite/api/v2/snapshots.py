# SPDX-License-Identifier: Apache-2.0
"""The calls for snapshots."""

from typing import Any

from manila_lite import errors, states
from manila_lite.actions import snapshots as actions
from manila_lite.api.framework import related, shapes
from manila_lite.api.framework.call import PAGE, Body, Call, Field, Many, One, View
from manila_lite.api.framework.handlers import BODY, CTX, act, field, listing, loaded, path, read, with_pairs
from manila_lite.api.framework.metadata import MetadataCalls, metadata_calls
from manila_lite.api.request import Request
from manila_lite.db import models
from manila_lite.db.queries import snapshots
from manila_lite.policies import base

_load = related.pairs_loader(models.snapshot_metadata)


def _deferred(req: Request) -> dict[str, Any]:
    """Return the filter of snapshots in deferred deletion, which only some callers see."""
    return {'deferred': req.may('share_snapshot:list_snapshots_in_deferred_deletion_states')}


# Fields and calls -------------------------------------------------------------------------------

_STATUS = {'type': 'string', 'enum': sorted(states.SNAPSHOT.statuses)}

SNAPSHOT = View(
    'snapshot',
    'snapshots',
    (
        Field('id', shapes.ID),
        Field('share_id', shapes.ID),
        Field('share_size', {'type': 'integer'}),
        Field('created_at', shapes.TIME),
        Field('status', _STATUS),
        Field('name', shapes.NAME),
        Field('description', shapes.NAME),
        Field('size', {'type': 'integer'}),
        Field('share_proto', shapes.STRING),
        Field('provider_location', shapes.NULL_STRING, since='2.12', rule=base.CONTEXT_IS_ADMIN),
        Field('user_id', shapes.NULL_STRING, since='2.17'),
        Field('project_id', shapes.STRING, since='2.17'),
        Field('metadata', shapes.PAIRS, since='2.73', read=related.pairs_of),
    ),
    'snapshots',
)
SUMMARY = View('snapshot', 'snapshots', (Field('id', shapes.ID), Field('name', shapes.NAME)), 'snapshots')

_NAMES = (
    Field('name', shapes.NAME, aliases=('display_name',)),
    Field('description', shapes.NAME, aliases=('display_description',)),
)

CREATE = (
    Field('share_id', shapes.REFERENCE, required=True),
    *_NAMES,
    Field('force', shapes.NULL_FLAG, parse=shapes.flag),
    Field('metadata', {**shapes.METADATA, 'type': ['object', 'null']}, since='2.73'),
)

FILTERS = (
    Field('name', shapes.STRING, aliases=('display_name',)),
    Field('description', shapes.STRING, aliases=('display_description',), since='2.36'),
    Field('status', shapes.STRING),
    Field('share_id', shapes.STRING),
    Field('size', {'type': 'integer', 'minimum': 0, 'maximum': shapes.MAX_INT}, parse=shapes.integer),
    Field('usage', shapes.STRING, parse=shapes.one_of('any', 'used', 'unused')),
    Field('user_id', shapes.STRING),
    Field('project_id', shapes.STRING),
    Field('all_tenants', shapes.FLAG, parse=shapes.flag, aliases=('all_projects',)),
    Field('name~', shapes.STRING, since='2.36', aliases=('display_name~',)),
    Field('description~', shapes.STRING, since='2.36', aliases=('display_description~',)),
    Field('metadata', shapes.STRING, parse=shapes.pairs, since='2.73'),
    Field('with_count', shapes.FLAG, parse=shapes.flag, since='2.79'),
    *PAGE,
)

_BUSY = ((errors.WrongState, 400),)
_BUSY_DELETE = ((errors.WrongState, 403),)
_ONE = '/snapshots/{snapshot_id}'
_ACTION = f'{_ONE}/action'

CALLS = [
    Call(
        'GET',
        '/snapshots',
        listing(
            'List ids and names of snapshots.',
            snapshots.list_snapshots,
            'share_snapshot:list_all_projects',
            count=snapshots.count,
            more=_deferred,
        ),
        'share_snapshot:get_all_snapshots',
        Many(SUMMARY, counted=True, paged=True, beside=SNAPSHOT.fields),
        query=FILTERS,
    ),
    Call(
        'GET',
        '/snapshots/detail',
        listing(
            'List snapshots with details.',
            snapshots.list_snapshots,
            'share_snapshot:list_all_projects',
            name='detail',
            count=snapshots.count,
            load=_load,
            more=_deferred,
        ),
        'share_snapshot:get_all_snapshots',
        Many(SNAPSHOT, counted=True, paged=True),
        query=FILTERS,
    ),
    Call(
        'GET',
        _ONE,
        read('Show one snapshot.', snapshots.get, CTX, path('snapshot_id'), name='show', load=_load),
        'share_snapshot:get_snapshot',
        One(SNAPSHOT),
    ),
    Call(
        'POST',
        '/snapshots',
        act('Take a snapshot.', actions.create, BODY, then=with_pairs),
        'share:create_snapshot',
        One(SNAPSHOT),
        ok=202,
        states=_BUSY,
        body=Body('snapshot', CREATE, missing=errors.Unprocessable),
        once=True,
    ),
    Call(
        'PUT',
        _ONE,
        act(
            'Change the name or description of a snapshot.',
            actions.update,
            path('snapshot_id'),
            BODY,
            then=loaded(_load),
        ),
        'share:snapshot_update',
        One(SNAPSHOT),
        body=Body('snapshot', _NAMES, missing=errors.Unprocessable),
    ),
    Call(
        'DELETE',
        _ONE,
        act('Delete a snapshot.', actions.delete, path('snapshot_id')),
        'share:delete_snapshot',
        ok=202,
        states=_BUSY_DELETE,
    ),
    Call(
        'POST',
        _ACTION,
        act(
            'Delete a snapshot in any status.',
            actions.delete,
            path('snapshot_id'),
            name='force_delete',
            force=True,
        ),
        'share_snapshot:force_delete',
        ok=202,
        action='force_delete',
        states=_BUSY_DELETE,
    ),
    Call(
        'POST',
        _ACTION,
        act('Set the status of a snapshot.', actions.reset_status, path('snapshot_id'), field('status')),
        'share_snapshot:reset_status',
        ok=202,
        action='reset_status',
        body=Body('reset_status', (Field('status', shapes.STRING, required=True),)),
    ),
    *metadata_calls(
        _ONE, MetadataCalls(actions.METADATA, ('snapshot_id',)), 'share_snapshot:{}_metadata', since='2.73'
    ),
]
