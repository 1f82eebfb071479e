# SPDX-License-Identifier: Apache-2.0
"""Share groups."""

from manila_lite.policies.base import ADMIN, MEMBER, READER, rule

_ONE = '/share-groups/{share_group_id}'

RULES = [
    rule('share_group:create', MEMBER, 'Create a share group.', 'POST /share-groups'),
    rule('share_group:get', READER, 'Show a share group.', f'GET {_ONE}'),
    rule(
        'share_group:get_all', READER, 'List share groups.', 'GET /share-groups', 'GET /share-groups/detail'
    ),
    rule(
        'share_group:list_all_projects',
        ADMIN,
        'List the share groups of all projects.',
        'GET /share-groups?all_tenants=1',
    ),
    rule(
        'share_group:list_by_host',
        ADMIN,
        'List share groups by host or share server, and show both.',
        'GET /share-groups?host={host}',
    ),
    rule('share_group:update', MEMBER, 'Change the name or description of a share group.', f'PUT {_ONE}'),
    rule('share_group:delete', MEMBER, 'Delete a share group.', f'DELETE {_ONE}'),
    rule('share_group:force_delete', ADMIN, 'Delete a share group in any status.', f'POST {_ONE}/action'),
    rule(
        'share_group:reset_status', ADMIN, 'Reset the status of a share group by hand.', f'POST {_ONE}/action'
    ),
]
