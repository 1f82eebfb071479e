# SPDX-License-Identifier: Apache-2.0
"""Export locations of shares and of their instances."""

from manila_lite.policies.base import ADMIN, ADMIN_OR_SERVICE_OR_READER, CONTEXT_IS_ADMIN, MEMBER, READER, rule

INDEX = 'share_export_location:index'
SHOW = 'share_export_location:show'
GET_METADATA = 'share_export_location:get_metadata'
UPDATE_METADATA = 'share_export_location:update_metadata'
DELETE_METADATA = 'share_export_location:delete_metadata'
UPDATE_ADMIN_METADATA = 'share_export_location:update_admin_only_metadata'
INSTANCE_INDEX = 'share_instance_export_location:index'
INSTANCE_SHOW = 'share_instance_export_location:show'
#: Not a rule of its own: whoever is administrator sees where an export location belongs.
SEE_INSTANCE = CONTEXT_IS_ADMIN

_ONE = '/shares/{share_id}/export_locations/{export_location_id}'

RULES = [
    # Services that mount it for its users look again where it is, long after they asked.
    rule(INDEX, ADMIN_OR_SERVICE_OR_READER, 'List the export locations of a share.', 'GET /shares/{share_id}/export_locations'),
    rule(SHOW, READER, 'See an export location of a share.', f'GET {_ONE}'),
    rule(GET_METADATA, READER, "See an export location's metadata.", f'GET {_ONE}/metadata', f'GET {_ONE}/metadata/{{key}}'),
    rule(UPDATE_METADATA, MEMBER, "Set an export location's metadata.", f'PUT {_ONE}/metadata', f'POST {_ONE}/metadata',
         f'POST {_ONE}/metadata/{{key}}'),
    rule(DELETE_METADATA, MEMBER, "Delete an export location's metadata.", f'DELETE {_ONE}/metadata/{{key}}'),
    rule(UPDATE_ADMIN_METADATA, ADMIN, 'Set or delete metadata keys that only administrators may.',
         f'PUT {_ONE}/metadata', f'POST {_ONE}/metadata', f'DELETE {_ONE}/metadata/{{key}}'),
    rule(INSTANCE_INDEX, ADMIN, 'List the export locations of a share instance.',
         'GET /share_instances/{share_instance_id}/export_locations'),
    rule(INSTANCE_SHOW, ADMIN, 'See an export location of a share instance.',
         'GET /share_instances/{share_instance_id}/export_locations/{export_location_id}'),
]
