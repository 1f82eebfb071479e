# SPDX-License-Identifier: Apache-2.0
"""Share group types, their group specs, and the projects that may use the private ones."""

from manila_lite.policies.base import ADMIN, READER, rule

CREATE = 'share_group_type:create'
GET = 'share_group_type:get'
GET_ALL = 'share_group_type:index'
DEFAULT = 'share_group_type:default'
DELETE = 'share_group_type:delete'
LIST_ACCESS = 'share_group_type:list_project_access'
ADD_ACCESS = 'share_group_type:add_project_access'
REMOVE_ACCESS = 'share_group_type:remove_project_access'
CREATE_SPEC = 'share_group_types_spec:create'
GET_SPEC = 'share_group_types_spec:show'
GET_SPECS = 'share_group_types_spec:index'
UPDATE_SPEC = 'share_group_types_spec:update'
DELETE_SPEC = 'share_group_types_spec:delete'

_ONE = '/share-group-types/{share_group_type_id}'
_SPECS = f'{_ONE}/group-specs'

RULES = [
    rule(CREATE, ADMIN, 'Create a share group type.', 'POST /share-group-types'),
    rule(GET, READER, 'Show a share group type.', f'GET {_ONE}'),
    rule(GET_ALL, READER, 'List share group types.', 'GET /share-group-types'),
    rule(DEFAULT, READER, 'Show the default share group type.', 'GET /share-group-types/default'),
    rule(DELETE, ADMIN, 'Delete a share group type.', f'DELETE {_ONE}'),
    rule(
        LIST_ACCESS, ADMIN, 'List the projects that may use a private share group type.', f'GET {_ONE}/access'
    ),
    rule(ADD_ACCESS, ADMIN, 'Allow a project to use a private share group type.', f'POST {_ONE}/action'),
    rule(REMOVE_ACCESS, ADMIN, 'Withdraw a private share group type from a project.', f'POST {_ONE}/action'),
    rule(CREATE_SPEC, ADMIN, 'Create or change group specs of a share group type.', f'POST {_SPECS}'),
    rule(GET_SPEC, ADMIN, 'Show one group spec of a share group type.', f'GET {_SPECS}/{{key}}'),
    rule(GET_SPECS, ADMIN, 'Show the group specs of a share group type.', f'GET {_SPECS}'),
    rule(UPDATE_SPEC, ADMIN, 'Change one group spec of a share group type.', f'PUT {_SPECS}/{{key}}'),
    rule(DELETE_SPEC, ADMIN, 'Delete one group spec of a share group type.', f'DELETE {_SPECS}/{{key}}'),
]
