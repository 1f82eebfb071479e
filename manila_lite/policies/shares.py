# SPDX-License-Identifier: Apache-2.0
"""Shares."""

from manila_lite.policies.base import ADMIN, MEMBER, READER, rule

CREATE = 'share:create'
CREATE_PUBLIC = 'share:create_public_share'
GET = 'share:get'
GET_ALL = 'share:get_all'
LIST_ALL_PROJECTS = 'share:list_all_projects'
LIST_BY_HOST = 'share:list_by_host'
LIST_BY_SERVER = 'share:list_by_share_server_id'
LIST_DELETED = 'share:list_shares_in_deferred_deletion_states'
UPDATE = 'share:update'
SET_PUBLIC = 'share:set_public_share'
DELETE = 'share:delete'
FORCE_DELETE = 'share:force_delete'
SOFT_DELETE = 'share:soft_delete'
RESTORE = 'share:restore'
RESET_STATUS = 'share:reset_status'
RESET_TASK_STATE = 'share:reset_task_state'
EXTEND = 'share:extend'
FORCE_EXTEND = 'share:force_extend'
SHRINK = 'share:shrink'
REVERT = 'share:revert_to_snapshot'
GET_METADATA = 'share:get_share_metadata'
UPDATE_METADATA = 'share:update_share_metadata'
DELETE_METADATA = 'share:delete_share_metadata'
UPDATE_ADMIN_METADATA = 'share:update_admin_only_metadata'
SHOW_HOST = 'share:show_host'

RULES = [
    rule(CREATE, MEMBER, 'Create a share.', 'POST /shares'),
    rule(CREATE_PUBLIC, ADMIN, 'Create a public share, visible to every project.', 'POST /shares'),
    rule(GET, READER, 'Show a share.', 'GET /shares/{share_id}'),
    rule(GET_ALL, READER, 'List shares.', 'GET /shares', 'GET /shares/detail'),
    rule(LIST_ALL_PROJECTS, ADMIN, 'List the shares of all projects.', 'GET /shares?all_tenants=1'),
    rule(LIST_BY_HOST, ADMIN, 'List shares by host.', 'GET /shares?host='),
    rule(LIST_BY_SERVER, ADMIN, 'List shares by share server.', 'GET /shares?share_server_id='),
    rule(LIST_DELETED, ADMIN, 'Show shares with deferred deletion.', 'GET /shares'),
    rule(UPDATE, MEMBER, 'Change the name, description or visibility of a share.', 'PUT /shares/{share_id}'),
    rule(SET_PUBLIC, ADMIN, 'Make a share public, visible to every project.', 'PUT /shares/{share_id}'),
    rule(DELETE, MEMBER, 'Delete a share.', 'DELETE /shares/{share_id}'),
    rule(FORCE_DELETE, ADMIN, 'Delete a share in any status.', 'POST /shares/{share_id}/action'),
    rule(SOFT_DELETE, MEMBER, 'Move a share to the recycle bin.', 'POST /shares/{share_id}/action'),
    rule(RESTORE, MEMBER, 'Restore a share from the recycle bin.', 'POST /shares/{share_id}/action'),
    rule(
        RESET_TASK_STATE, ADMIN, 'Reset the task state of a share by hand.', 'POST /shares/{share_id}/action'
    ),
    rule(RESET_STATUS, ADMIN, 'Reset the status of a share by hand.', 'POST /shares/{share_id}/action'),
    rule(EXTEND, MEMBER, 'Extend a share.', 'POST /shares/{share_id}/action'),
    rule(
        FORCE_EXTEND,
        ADMIN,
        "Extend a share without a check of the pool's capacity.",
        'POST /shares/{share_id}/action',
    ),
    rule(SHRINK, MEMBER, 'Shrink a share.', 'POST /shares/{share_id}/action'),
    rule(REVERT, MEMBER, 'Revert a share to its latest snapshot.', 'POST /shares/{share_id}/action'),
    rule(
        GET_METADATA,
        READER,
        'Show metadata of a share.',
        'GET /shares/{share_id}/metadata',
        'GET /shares/{share_id}/metadata/{key}',
    ),
    rule(
        UPDATE_METADATA,
        MEMBER,
        'Set metadata of a share.',
        'PUT /shares/{share_id}/metadata',
        'POST /shares/{share_id}/metadata',
        'POST /shares/{share_id}/metadata/{key}',
    ),
    rule(DELETE_METADATA, MEMBER, 'Delete metadata of a share.', 'DELETE /shares/{share_id}/metadata/{key}'),
    rule(
        UPDATE_ADMIN_METADATA,
        ADMIN,
        'Set or delete share metadata with keys that only administrators may change.',
        'PUT /shares/{share_id}/metadata',
    ),
    rule(SHOW_HOST, ADMIN, 'Show the host and share server of a share.', 'GET /shares/{share_id}'),
]
