# SPDX-License-Identifier: Apache-2.0
"""Snapshots of share groups."""

from manila_lite.policies.base import ADMIN, MEMBER, READER, rule

CREATE = 'share_group_snapshot:create'
GET = 'share_group_snapshot:get'
GET_ALL = 'share_group_snapshot:get_all'
LIST_ALL_PROJECTS = 'share_group_snapshot:list_all_projects'
UPDATE = 'share_group_snapshot:update'
DELETE = 'share_group_snapshot:delete'
FORCE_DELETE = 'share_group_snapshot:force_delete'
RESET_STATUS = 'share_group_snapshot:reset_status'

_ONE = '/share-group-snapshots/{share_group_snapshot_id}'

RULES = [
    rule(CREATE, MEMBER, 'Create a snapshot of a share group.', 'POST /share-group-snapshots'),
    rule(GET, READER, 'Show a share group snapshot and its members.', f'GET {_ONE}', f'GET {_ONE}/members'),
    rule(
        GET_ALL,
        READER,
        'List share group snapshots.',
        'GET /share-group-snapshots',
        'GET /share-group-snapshots/detail',
    ),
    rule(
        LIST_ALL_PROJECTS,
        ADMIN,
        'List the share group snapshots of all projects.',
        'GET /share-group-snapshots?all_tenants=1',
    ),
    rule(UPDATE, MEMBER, 'Change the name or description of a share group snapshot.', f'PUT {_ONE}'),
    rule(DELETE, MEMBER, 'Delete a share group snapshot.', f'DELETE {_ONE}'),
    rule(FORCE_DELETE, ADMIN, 'Delete a share group snapshot in any status.', f'POST {_ONE}/action'),
    rule(RESET_STATUS, ADMIN, 'Reset the status of a share group snapshot by hand.', f'POST {_ONE}/action'),
]
