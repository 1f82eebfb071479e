# SPDX-License-Identifier: Apache-2.0
"""The calls for share groups."""

from manila_lite import errors, states
from manila_lite.actions import share_groups as actions
from manila_lite.api.framework import related, shapes
from manila_lite.api.framework.call import PAGE, Body, Field, Many, One, View
from manila_lite.api.framework.handlers import BODY, CTX, act, field, listing, loaded, path, read
from manila_lite.api.v2.share_group_types import group_call as _call
from manila_lite.db.queries import share_groups

_load = related.loader('share_types', share_groups.share_types_of)

# Fields and calls -------------------------------------------------------------------------------

_CONSISTENT = {'enum': [None, 'pool', 'host']}

GROUP = View(
    'share_group',
    'share_groups',
    (
        Field('id', shapes.ID),
        Field('name', shapes.NAME),
        Field('created_at', shapes.TIME),
        Field('status', {'type': 'string', 'enum': sorted(states.SHARE_GROUP.statuses)}),
        Field('description', shapes.NAME),
        Field('project_id', shapes.STRING),
        Field('availability_zone', shapes.NULL_STRING, since='2.34'),
        Field('share_group_type_id', shapes.ID),
        Field('source_share_group_snapshot_id', shapes.NULL_STRING),
        Field('share_network_id', shapes.NULL_STRING),
        Field('share_types', {'type': 'array', 'items': shapes.ID}, read=related.reader('share_types', [])),
        Field('consistent_snapshot_support', _CONSISTENT, since='2.34'),
        Field('host', shapes.NULL_STRING, rule='share_group:list_by_host', blank=True),
        Field('share_server_id', shapes.NULL_STRING, rule='share_group:list_by_host'),
    ),
    'share-groups',
)
SUMMARY = View(
    'share_group', 'share_groups', (Field('id', shapes.ID), Field('name', shapes.NAME)), 'share-groups'
)

_NAMES = (Field('name', shapes.NAME), Field('description', shapes.NAME))

CREATE = (
    *_NAMES,
    Field('share_group_type_id', shapes.NULL_UUID, empty_is_null=True),
    Field('share_types', {'type': ['array', 'null'], 'items': shapes.UUID}),
    Field('share_network_id', shapes.NULL_UUID, empty_is_null=True),
    Field('source_share_group_snapshot_id', shapes.NULL_UUID, empty_is_null=True),
    Field('availability_zone', shapes.NULL_REFERENCE, empty_is_null=True),
)

#: Filters of lists of groups and of group snapshots.
COMMON_FILTERS = (
    Field('name', shapes.STRING),
    Field('description', shapes.STRING, since='2.36'),
    Field('name~', shapes.STRING, since='2.36'),
    Field('description~', shapes.STRING, since='2.36'),
    Field('status', shapes.STRING),
    Field('project_id', shapes.STRING),
    Field('all_tenants', shapes.FLAG, parse=shapes.flag, aliases=('all_projects',)),
    *PAGE,
)

FILTERS = (
    Field('share_group_type_id', shapes.STRING, aliases=('share_group_type',)),
    Field('share_network_id', shapes.STRING, aliases=('share_network',)),
    Field('source_share_group_snapshot_id', shapes.STRING),
    Field('host', shapes.STRING),
    Field('share_server_id', shapes.STRING),
    *COMMON_FILTERS,
)

_ONE = '/share-groups/{share_group_id}'
_ACTION = f'{_ONE}/action'
_MISSING = errors.Unprocessable

CALLS = [
    _call(
        'GET',
        '/share-groups',
        listing(
            'List ids and names of share groups.', share_groups.list_groups, 'share_group:list_all_projects'
        ),
        'share_group:get_all',
        Many(SUMMARY, paged=True, beside=GROUP.fields),
        query=FILTERS,
    ),
    _call(
        'GET',
        '/share-groups/detail',
        listing(
            'List share groups with details.',
            share_groups.list_groups,
            'share_group:list_all_projects',
            name='detail',
            load=_load,
        ),
        'share_group:get_all',
        Many(GROUP, paged=True),
        query=FILTERS,
    ),
    _call(
        'GET',
        _ONE,
        read('Show one share group.', share_groups.get, CTX, path('share_group_id'), name='show', load=_load),
        'share_group:get',
        One(GROUP),
    ),
    _call(
        'POST',
        '/share-groups',
        act('Create a share group.', actions.create, BODY, then=loaded(_load)),
        'share_group:create',
        One(GROUP),
        ok=202,
        once=True,
        body=Body('share_group', CREATE, missing=_MISSING),
    ),
    _call(
        'PUT',
        _ONE,
        act(
            'Change the name or description of a share group.',
            actions.update,
            path('share_group_id'),
            BODY,
            then=loaded(_load),
        ),
        'share_group:update',
        One(GROUP),
        body=Body('share_group', _NAMES, missing=_MISSING),
    ),
    _call(
        'DELETE',
        _ONE,
        act('Delete a share group.', actions.delete, path('share_group_id')),
        'share_group:delete',
        ok=202,
    ),
    _call(
        'POST',
        _ACTION,
        act(
            'Delete a share group in any status.',
            actions.delete,
            path('share_group_id'),
            name='force_delete',
            force=True,
        ),
        'share_group:force_delete',
        ok=202,
        action='force_delete',
    ),
    _call(
        'POST',
        _ACTION,
        act(
            'Set the status of a share group.', actions.reset_status, path('share_group_id'), field('status')
        ),
        'share_group:reset_status',
        ok=202,
        action='reset_status',
        body=Body('reset_status', (Field('status', shapes.STRING, required=True),)),
    ),
]
