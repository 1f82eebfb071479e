# SPDX-License-Identifier: Apache-2.0
"""Export locations of shares and of their instances."""

from manila_lite.policies.base import (
    ADMIN,
    ADMIN_OR_SERVICE_OR_READER,
    CONTEXT_IS_ADMIN,
    MEMBER,
    READER,
    rule,
)

INDEX = 'share_export_location:index'
SHOW = 'share_export_location:show'
GET_METADATA = 'share_export_location:get_metadata'
UPDATE_METADATA = 'share_export_location:update_metadata'
DELETE_METADATA = 'share_export_location:delete_metadata'
UPDATE_ADMIN_METADATA = 'share_export_location:update_admin_only_metadata'
INSTANCE_INDEX = 'share_instance_export_location:index'
INSTANCE_SHOW = 'share_instance_export_location:show'
#: Not a rule of its own: administrators see the instance of an export location.
SEE_INSTANCE = CONTEXT_IS_ADMIN

_ONE = '/shares/{share_id}/export_locations/{export_location_id}'

RULES = [
    # Services that mount the share for its users look up its locations again, long after the user's request.
    rule(
        INDEX,
        ADMIN_OR_SERVICE_OR_READER,
        'List the export locations of a share.',
        'GET /shares/{share_id}/export_locations',
    ),
    rule(SHOW, READER, 'Show an export location of a share.', f'GET {_ONE}'),
    rule(
        GET_METADATA,
        READER,
        'Show metadata of an export location.',
        f'GET {_ONE}/metadata',
        f'GET {_ONE}/metadata/{{key}}',
    ),
    rule(
        UPDATE_METADATA,
        MEMBER,
        'Set metadata of an export location.',
        f'PUT {_ONE}/metadata',
        f'POST {_ONE}/metadata',
        f'POST {_ONE}/metadata/{{key}}',
    ),
    rule(
        DELETE_METADATA, MEMBER, 'Delete metadata of an export location.', f'DELETE {_ONE}/metadata/{{key}}'
    ),
    rule(
        UPDATE_ADMIN_METADATA,
        ADMIN,
        'Set or delete export location metadata with keys that only administrators may change.',
        f'PUT {_ONE}/metadata',
        f'POST {_ONE}/metadata',
        f'DELETE {_ONE}/metadata/{{key}}',
    ),
    rule(
        INSTANCE_INDEX,
        ADMIN,
        'List the export locations of a share instance.',
        'GET /share_instances/{share_instance_id}/export_locations',
    ),
    rule(
        INSTANCE_SHOW,
        ADMIN,
        'Show an export location of a share instance.',
        'GET /share_instances/{share_instance_id}/export_locations/{export_location_id}',
    ),
]
