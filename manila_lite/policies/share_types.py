# SPDX-License-Identifier: Apache-2.0
"""Share types, their extra specs, and the projects that may use the private ones."""

from manila_lite.policies.base import ADMIN, READER, rule

CREATE = 'share_type:create'
UPDATE = 'share_type:update'
GET = 'share_type:show'
GET_ALL = 'share_type:index'
DEFAULT = 'share_type:default'
DELETE = 'share_type:delete'
LIST_ACCESS = 'share_type:list_project_access'
ADD_ACCESS = 'share_type:add_project_access'
REMOVE_ACCESS = 'share_type:remove_project_access'
CREATE_SPEC = 'share_types_extra_spec:create'
GET_SPEC = 'share_types_extra_spec:show'
GET_SPECS = 'share_types_extra_spec:index'
UPDATE_SPEC = 'share_types_extra_spec:update'
DELETE_SPEC = 'share_types_extra_spec:delete'

_ACTION = 'POST /types/{share_type_id}/action'
_SPECS = '/types/{share_type_id}/extra_specs'

RULES = [
    rule(CREATE, ADMIN, 'Create a share type.', 'POST /types'),
    rule(
        UPDATE,
        ADMIN,
        'Change the name, description or visibility of a share type.',
        'PUT /types/{share_type_id}',
    ),
    rule(GET, READER, 'Show a share type.', 'GET /types/{share_type_id}'),
    rule(GET_ALL, READER, 'List share types.', 'GET /types'),
    rule(DEFAULT, READER, 'Show the default share type.', 'GET /types/default'),
    rule(DELETE, ADMIN, 'Delete a share type.', 'DELETE /types/{share_type_id}'),
    rule(
        LIST_ACCESS,
        ADMIN,
        'List the projects that may use a private share type.',
        'GET /types/{share_type_id}/share_type_access',
    ),
    rule(ADD_ACCESS, ADMIN, 'Allow a project to use a private share type.', _ACTION),
    rule(REMOVE_ACCESS, ADMIN, 'Withdraw a private share type from a project.', _ACTION),
    rule(CREATE_SPEC, ADMIN, 'Create or change extra specs of a share type.', f'POST {_SPECS}'),
    rule(GET_SPEC, ADMIN, 'Show one extra spec of a share type.', f'GET {_SPECS}/{{key}}'),
    rule(GET_SPECS, ADMIN, 'Show the extra specs of a share type.', f'GET {_SPECS}'),
    rule(UPDATE_SPEC, ADMIN, 'Change one extra spec of a share type.', f'PUT {_SPECS}/{{key}}'),
    rule(DELETE_SPEC, ADMIN, 'Delete one extra spec of a share type.', f'DELETE {_SPECS}/{{key}}'),
]
