# SPDX-License-Identifier: Apache-2.0
"""Share groups."""

from manila_lite.policies.base import ADMIN, MEMBER, READER, rule

CREATE = 'share_group:create'
GET = 'share_group:get'
GET_ALL = 'share_group:get_all'
LIST_ALL_PROJECTS = 'share_group:list_all_projects'
LIST_BY_HOST = 'share_group:list_by_host'
UPDATE = 'share_group:update'
DELETE = 'share_group:delete'
FORCE_DELETE = 'share_group:force_delete'
RESET_STATUS = 'share_group:reset_status'

_ONE = '/share-groups/{share_group_id}'

RULES = [
    rule(CREATE, MEMBER, 'Create a share group.', 'POST /share-groups'),
    rule(GET, READER, 'Show a share group.', f'GET {_ONE}'),
    rule(GET_ALL, READER, 'List share groups.', 'GET /share-groups', 'GET /share-groups/detail'),
    rule(
        LIST_ALL_PROJECTS, ADMIN, 'List the share groups of all projects.', 'GET /share-groups?all_tenants=1'
    ),
    rule(
        LIST_BY_HOST,
        ADMIN,
        'List share groups by host or share server, and show both.',
        'GET /share-groups?host={host}',
    ),
    rule(UPDATE, MEMBER, 'Change the name or description of a share group.', f'PUT {_ONE}'),
    rule(DELETE, MEMBER, 'Delete a share group.', f'DELETE {_ONE}'),
    rule(FORCE_DELETE, ADMIN, 'Delete a share group in any status.', f'POST {_ONE}/action'),
    rule(RESET_STATUS, ADMIN, 'Reset the status of a share group by hand.', f'POST {_ONE}/action'),
]
