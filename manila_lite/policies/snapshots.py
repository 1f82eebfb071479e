# SPDX-License-Identifier: Apache-2.0
"""Snapshots of shares."""

from manila_lite.policies.base import ADMIN, MEMBER, READER, rule

RULES = [
    rule('share:create_snapshot', MEMBER, 'Create a snapshot of a share.', 'POST /snapshots'),
    rule(
        'share:snapshot_update',
        MEMBER,
        'Change the name or description of a snapshot.',
        'PUT /snapshots/{snapshot_id}',
    ),
    rule('share:delete_snapshot', MEMBER, 'Delete a snapshot.', 'DELETE /snapshots/{snapshot_id}'),
    rule('share_snapshot:get_snapshot', READER, 'Show a snapshot.', 'GET /snapshots/{snapshot_id}'),
    rule(
        'share_snapshot:get_all_snapshots',
        READER,
        'List snapshots.',
        'GET /snapshots',
        'GET /snapshots/detail',
    ),
    rule(
        'share_snapshot:list_all_projects',
        ADMIN,
        'List the snapshots of all projects.',
        'GET /snapshots?all_tenants=1',
    ),
    rule(
        'share_snapshot:list_snapshots_in_deferred_deletion_states',
        ADMIN,
        'List snapshots with deferred deletion.',
        'GET /snapshots',
        'GET /snapshots/detail',
    ),
    rule(
        'share_snapshot:force_delete',
        ADMIN,
        'Delete a snapshot in any status.',
        'POST /snapshots/{snapshot_id}/action',
    ),
    rule(
        'share_snapshot:reset_status',
        ADMIN,
        'Reset the status of a snapshot by hand.',
        'POST /snapshots/{snapshot_id}/action',
    ),
    rule(
        'share_snapshot:get_metadata',
        READER,
        'Show metadata of a snapshot.',
        'GET /snapshots/{snapshot_id}/metadata',
        'GET /snapshots/{snapshot_id}/metadata/{key}',
    ),
    rule(
        'share_snapshot:update_metadata',
        MEMBER,
        'Set metadata of a snapshot.',
        'PUT /snapshots/{snapshot_id}/metadata',
        'POST /snapshots/{snapshot_id}/metadata',
        'POST /snapshots/{snapshot_id}/metadata/{key}',
    ),
    rule(
        'share_snapshot:delete_metadata',
        MEMBER,
        'Delete metadata of a snapshot.',
        'DELETE /snapshots/{snapshot_id}/metadata/{key}',
    ),
    rule(
        'share_snapshot_export_location:index',
        READER,
        'List the export locations of a snapshot.',
        'GET /snapshots/{snapshot_id}/export-locations',
    ),
    rule(
        'share_snapshot_export_location:show',
        READER,
        'Show an export location of a snapshot.',
        'GET /snapshots/{snapshot_id}/export-locations/{snapshot_export_location_id}',
    ),
    rule(
        'share_snapshot:access_list',
        READER,
        'List the access rules of a snapshot.',
        'GET /snapshots/{snapshot_id}/access-list',
    ),
    rule(
        'share_snapshot:allow_access',
        MEMBER,
        'Create an access rule of a snapshot.',
        'POST /snapshots/{snapshot_id}/action',
    ),
    rule(
        'share_snapshot:deny_access',
        MEMBER,
        'Delete an access rule of a snapshot.',
        'POST /snapshots/{snapshot_id}/action',
    ),
]
