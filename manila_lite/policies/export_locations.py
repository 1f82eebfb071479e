# SPDX-License-Identifier: Apache-2.0
"""Export locations of shares and of their instances."""

from manila_lite.policies.base import ADMIN, ADMIN_OR_SERVICE_OR_READER, MEMBER, READER, rule

_ONE = '/shares/{share_id}/export_locations/{export_location_id}'

RULES = [
    # Services that mount the share for its users look up its locations again, long after the user's request.
    rule(
        'share_export_location:index',
        ADMIN_OR_SERVICE_OR_READER,
        'List the export locations of a share.',
        'GET /shares/{share_id}/export_locations',
    ),
    rule('share_export_location:show', READER, 'Show an export location of a share.', f'GET {_ONE}'),
    rule(
        'share_export_location:get_metadata',
        READER,
        'Show metadata of an export location.',
        f'GET {_ONE}/metadata',
        f'GET {_ONE}/metadata/{{key}}',
    ),
    rule(
        'share_export_location:update_metadata',
        MEMBER,
        'Set metadata of an export location.',
        f'PUT {_ONE}/metadata',
        f'POST {_ONE}/metadata',
        f'POST {_ONE}/metadata/{{key}}',
    ),
    rule(
        'share_export_location:delete_metadata',
        MEMBER,
        'Delete metadata of an export location.',
        f'DELETE {_ONE}/metadata/{{key}}',
    ),
    rule(
        'share_export_location:update_admin_only_metadata',
        ADMIN,
        'Set or delete export location metadata with keys that only administrators may change.',
        f'PUT {_ONE}/metadata',
        f'POST {_ONE}/metadata',
        f'DELETE {_ONE}/metadata/{{key}}',
    ),
    rule(
        'share_instance_export_location:index',
        ADMIN,
        'List the export locations of a share instance.',
        'GET /share_instances/{share_instance_id}/export_locations',
    ),
    rule(
        'share_instance_export_location:show',
        ADMIN,
        'Show an export location of a share instance.',
        'GET /share_instances/{share_instance_id}/export_locations/{export_location_id}',
    ),
]
