# SPDX-License-Identifier: Apache-2.0
"""Share group types, their group specs, and the projects that may use the private ones."""

from manila_lite.policies.base import ADMIN, READER, rule

_ONE = '/share-group-types/{share_group_type_id}'
_SPECS = f'{_ONE}/group-specs'

RULES = [
    rule('share_group_type:create', ADMIN, 'Create a share group type.', 'POST /share-group-types'),
    rule('share_group_type:get', READER, 'Show a share group type.', f'GET {_ONE}'),
    rule('share_group_type:index', READER, 'List share group types.', 'GET /share-group-types'),
    rule(
        'share_group_type:default',
        READER,
        'Show the default share group type.',
        'GET /share-group-types/default',
    ),
    rule('share_group_type:delete', ADMIN, 'Delete a share group type.', f'DELETE {_ONE}'),
    rule(
        'share_group_type:list_project_access',
        ADMIN,
        'List the projects that may use a private share group type.',
        f'GET {_ONE}/access',
    ),
    rule(
        'share_group_type:add_project_access',
        ADMIN,
        'Allow a project to use a private share group type.',
        f'POST {_ONE}/action',
    ),
    rule(
        'share_group_type:remove_project_access',
        ADMIN,
        'Withdraw a private share group type from a project.',
        f'POST {_ONE}/action',
    ),
    rule(
        'share_group_types_spec:create',
        ADMIN,
        'Create or change group specs of a share group type.',
        f'POST {_SPECS}',
    ),
    rule(
        'share_group_types_spec:show',
        ADMIN,
        'Show one group spec of a share group type.',
        f'GET {_SPECS}/{{key}}',
    ),
    rule(
        'share_group_types_spec:index', ADMIN, 'Show the group specs of a share group type.', f'GET {_SPECS}'
    ),
    rule(
        'share_group_types_spec:update',
        ADMIN,
        'Change one group spec of a share group type.',
        f'PUT {_SPECS}/{{key}}',
    ),
    rule(
        'share_group_types_spec:delete',
        ADMIN,
        'Delete one group spec of a share group type.',
        f'DELETE {_SPECS}/{{key}}',
    ),
]
