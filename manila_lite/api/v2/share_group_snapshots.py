# SPDX-License-Identifier: Apache-2.0
"""The calls for snapshots of share groups."""

from typing import Any

from manila_lite import errors, states
from manila_lite.actions import share_group_snapshots as actions
from manila_lite.api.framework import related, shapes
from manila_lite.api.framework.call import Body, Field, Many, One, Plain, View
from manila_lite.api.framework.handlers import BODY, CTX, act, field, listing, loaded, path, read
from manila_lite.api.request import Request
from manila_lite.api.v2.share_group_types import group_call as _call
from manila_lite.api.v2.share_groups import COMMON_FILTERS
from manila_lite.db.queries import share_group_snapshots

#: Columns of a member's row that are shown unchanged.
_AS_IT_IS = (
    'id',
    'share_group_snapshot_id',
    'share_id',
    'name',
    'project_id',
    'size',
    'share_proto',
    'created_at',
)


def members_of(row: Any, req: Request) -> list[dict[str, Any]]:
    """Read the members, loaded for all rows at once. Protocol and size are shown under two names each."""
    return [
        {
            **{name: getattr(member, name) for name in _AS_IT_IS},
            'share_protocol': member.share_proto,
            'share_size': member.size,
            'status': row.status,
        }
        for member in req.related['members'].get(row.id, [])
    ]


_load = related.loader('members', share_group_snapshots.members_of)

_SHOW = read(
    'Show one share group snapshot.',
    share_group_snapshots.get,
    CTX,
    path('share_group_snapshot_id'),
    name='show',
    load=_load,
)


def members(req: Request) -> list[dict[str, Any]]:
    """List the members of a share group snapshot, one for each share."""
    return members_of(_SHOW(req), req)


# Fields and calls -------------------------------------------------------------------------------

_STATUS = {'type': 'string', 'enum': sorted(states.SHARE_GROUP_SNAPSHOT.statuses)}

MEMBERS = {
    'type': 'array',
    'items': shapes.document(
        {
            'id': shapes.ID,
            'share_group_snapshot_id': shapes.ID,
            'share_id': shapes.ID,
            'name': shapes.NAME,
            'status': _STATUS,
            'project_id': shapes.STRING,
            'size': shapes.INTEGER,
            'share_size': shapes.INTEGER,
            'share_proto': shapes.STRING,
            'share_protocol': shapes.STRING,
            'created_at': shapes.TIME,
        }
    ),
}

SNAPSHOT = View(
    'share_group_snapshot',
    'share_group_snapshots',
    (
        Field('id', shapes.ID),
        Field('name', shapes.NAME),
        Field('created_at', shapes.TIME),
        Field('status', _STATUS),
        Field('description', shapes.NAME),
        Field('project_id', shapes.STRING),
        Field('share_group_id', shapes.ID),
        Field('members', MEMBERS, read=members_of),
    ),
    'share-group-snapshots',
)
SUMMARY = View(
    'share_group_snapshot',
    'share_group_snapshots',
    (Field('id', shapes.ID), Field('name', shapes.NAME)),
    'share-group-snapshots',
)

#: A key to sort by that is a field of the group.
_BESIDE = (*SNAPSHOT.fields, Field('host', shapes.STRING, rule='share_group:list_by_host'))

_NAMES = (Field('name', shapes.NAME), Field('description', shapes.NAME))
CREATE = (Field('share_group_id', shapes.REFERENCE, required=True), *_NAMES)
FILTERS = (Field('share_group_id', shapes.STRING), *COMMON_FILTERS)

_ONE = '/share-group-snapshots/{share_group_snapshot_id}'
_ACTION = f'{_ONE}/action'
_MISSING = errors.Unprocessable

CALLS = [
    _call(
        'GET',
        '/share-group-snapshots',
        listing(
            'List ids and names of share group snapshots.',
            share_group_snapshots.list_snapshots,
            'share_group_snapshot:list_all_projects',
        ),
        'share_group_snapshot:get_all',
        Many(SUMMARY, paged=True, beside=_BESIDE),
        query=FILTERS,
    ),
    _call(
        'GET',
        '/share-group-snapshots/detail',
        listing(
            'List share group snapshots with details.',
            share_group_snapshots.list_snapshots,
            'share_group_snapshot:list_all_projects',
            name='detail',
            load=_load,
        ),
        'share_group_snapshot:get_all',
        Many(SNAPSHOT, paged=True, beside=_BESIDE),
        query=FILTERS,
    ),
    _call('GET', _ONE, _SHOW, 'share_group_snapshot:get', One(SNAPSHOT)),
    _call(
        'GET',
        f'{_ONE}/members',
        members,
        'share_group_snapshot:get',
        Plain(MEMBERS, 'share_group_snapshot_members'),
    ),
    _call(
        'POST',
        '/share-group-snapshots',
        act('Take a snapshot of a share group.', actions.create, BODY, then=loaded(_load)),
        'share_group_snapshot:create',
        One(SNAPSHOT),
        ok=202,
        body=Body('share_group_snapshot', CREATE, missing=_MISSING),
        once=True,
    ),
    _call(
        'PUT',
        _ONE,
        act(
            'Change the name or description of a share group snapshot.',
            actions.update,
            path('share_group_snapshot_id'),
            BODY,
            then=loaded(_load),
        ),
        'share_group_snapshot:update',
        One(SNAPSHOT),
        body=Body('share_group_snapshot', _NAMES, missing=_MISSING),
    ),
    _call(
        'DELETE',
        _ONE,
        act('Delete a share group snapshot.', actions.delete, path('share_group_snapshot_id')),
        'share_group_snapshot:delete',
        ok=202,
    ),
    _call(
        'POST',
        _ACTION,
        act(
            'Delete a share group snapshot in any status.',
            actions.delete,
            path('share_group_snapshot_id'),
            name='force_delete',
            force=True,
        ),
        'share_group_snapshot:force_delete',
        ok=202,
        action='force_delete',
    ),
    _call(
        'POST',
        _ACTION,
        act(
            'Set the status of a share group snapshot.',
            actions.reset_status,
            path('share_group_snapshot_id'),
            field('status'),
        ),
        'share_group_snapshot:reset_status',
        ok=202,
        action='reset_status',
        body=Body('reset_status', (Field('status', shapes.STRING, required=True),)),
    ),
]
