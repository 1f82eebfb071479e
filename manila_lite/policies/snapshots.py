# SPDX-License-Identifier: Apache-2.0
"""Snapshots of shares."""

from manila_lite.policies.base import ADMIN, MEMBER, READER, rule

CREATE = 'share:create_snapshot'
UPDATE = 'share:snapshot_update'
DELETE = 'share:delete_snapshot'
GET = 'share_snapshot:get_snapshot'
GET_ALL = 'share_snapshot:get_all_snapshots'
LIST_ALL_PROJECTS = 'share_snapshot:list_all_projects'
LIST_DELETED = 'share_snapshot:list_snapshots_in_deferred_deletion_states'
FORCE_DELETE = 'share_snapshot:force_delete'
RESET_STATUS = 'share_snapshot:reset_status'
GET_METADATA = 'share_snapshot:get_metadata'
UPDATE_METADATA = 'share_snapshot:update_metadata'
DELETE_METADATA = 'share_snapshot:delete_metadata'
EXPORTS = 'share_snapshot_export_location:index'
EXPORT = 'share_snapshot_export_location:show'
LIST_ACCESS = 'share_snapshot:access_list'
ALLOW = 'share_snapshot:allow_access'
DENY = 'share_snapshot:deny_access'

RULES = [
    rule(CREATE, MEMBER, 'Create a snapshot of a share.', 'POST /snapshots'),
    rule(UPDATE, MEMBER, 'Change the name or description of a snapshot.', 'PUT /snapshots/{snapshot_id}'),
    rule(DELETE, MEMBER, 'Delete a snapshot.', 'DELETE /snapshots/{snapshot_id}'),
    rule(GET, READER, 'Show a snapshot.', 'GET /snapshots/{snapshot_id}'),
    rule(GET_ALL, READER, 'List snapshots.', 'GET /snapshots', 'GET /snapshots/detail'),
    rule(LIST_ALL_PROJECTS, ADMIN, 'List the snapshots of all projects.', 'GET /snapshots?all_tenants=1'),
    rule(
        LIST_DELETED,
        ADMIN,
        'List snapshots with deferred deletion.',
        'GET /snapshots',
        'GET /snapshots/detail',
    ),
    rule(FORCE_DELETE, ADMIN, 'Delete a snapshot in any status.', 'POST /snapshots/{snapshot_id}/action'),
    rule(
        RESET_STATUS, ADMIN, 'Reset the status of a snapshot by hand.', 'POST /snapshots/{snapshot_id}/action'
    ),
    rule(
        GET_METADATA,
        READER,
        'Show metadata of a snapshot.',
        'GET /snapshots/{snapshot_id}/metadata',
        'GET /snapshots/{snapshot_id}/metadata/{key}',
    ),
    rule(
        UPDATE_METADATA,
        MEMBER,
        'Set metadata of a snapshot.',
        'PUT /snapshots/{snapshot_id}/metadata',
        'POST /snapshots/{snapshot_id}/metadata',
        'POST /snapshots/{snapshot_id}/metadata/{key}',
    ),
    rule(
        DELETE_METADATA,
        MEMBER,
        'Delete metadata of a snapshot.',
        'DELETE /snapshots/{snapshot_id}/metadata/{key}',
    ),
    rule(
        EXPORTS,
        READER,
        'List the export locations of a snapshot.',
        'GET /snapshots/{snapshot_id}/export-locations',
    ),
    rule(
        EXPORT,
        READER,
        'Show an export location of a snapshot.',
        'GET /snapshots/{snapshot_id}/export-locations/{snapshot_export_location_id}',
    ),
    rule(
        LIST_ACCESS,
        READER,
        'List the access rules of a snapshot.',
        'GET /snapshots/{snapshot_id}/access-list',
    ),
    rule(ALLOW, MEMBER, 'Create an access rule of a snapshot.', 'POST /snapshots/{snapshot_id}/action'),
    rule(DENY, MEMBER, 'Delete an access rule of a snapshot.', 'POST /snapshots/{snapshot_id}/action'),
]
