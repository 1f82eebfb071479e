# SPDX-License-Identifier: Apache-2.0
"""Share types, their extra specs, and the projects that may use the private ones."""

from manila_lite.policies.base import ADMIN, READER, rule

_ACTION = 'POST /types/{share_type_id}/action'
_SPECS = '/types/{share_type_id}/extra_specs'

RULES = [
    rule('share_type:create', ADMIN, 'Create a share type.', 'POST /types'),
    rule(
        'share_type:update',
        ADMIN,
        'Change the name, description or visibility of a share type.',
        'PUT /types/{share_type_id}',
    ),
    rule('share_type:show', READER, 'Show a share type.', 'GET /types/{share_type_id}'),
    rule('share_type:index', READER, 'List share types.', 'GET /types'),
    rule('share_type:default', READER, 'Show the default share type.', 'GET /types/default'),
    rule('share_type:delete', ADMIN, 'Delete a share type.', 'DELETE /types/{share_type_id}'),
    rule(
        'share_type:list_project_access',
        ADMIN,
        'List the projects that may use a private share type.',
        'GET /types/{share_type_id}/share_type_access',
    ),
    rule('share_type:add_project_access', ADMIN, 'Allow a project to use a private share type.', _ACTION),
    rule('share_type:remove_project_access', ADMIN, 'Withdraw a private share type from a project.', _ACTION),
    rule(
        'share_types_extra_spec:create',
        ADMIN,
        'Create or change extra specs of a share type.',
        f'POST {_SPECS}',
    ),
    rule(
        'share_types_extra_spec:show', ADMIN, 'Show one extra spec of a share type.', f'GET {_SPECS}/{{key}}'
    ),
    rule('share_types_extra_spec:index', ADMIN, 'Show the extra specs of a share type.', f'GET {_SPECS}'),
    rule(
        'share_types_extra_spec:update',
        ADMIN,
        'Change one extra spec of a share type.',
        f'PUT {_SPECS}/{{key}}',
    ),
    rule(
        'share_types_extra_spec:delete',
        ADMIN,
        'Delete one extra spec of a share type.',
        f'DELETE {_SPECS}/{{key}}',
    ),
]
