# SPDX-License-Identifier: Apache-2.0
"""Shares."""

from manila_lite.policies.base import ADMIN, MEMBER, READER, rule

RULES = [
    rule('share:create', MEMBER, 'Create a share.', 'POST /shares'),
    rule(
        'share:create_public_share', ADMIN, 'Create a public share, visible to every project.', 'POST /shares'
    ),
    rule('share:get', READER, 'Show a share.', 'GET /shares/{share_id}'),
    rule('share:get_all', READER, 'List shares.', 'GET /shares', 'GET /shares/detail'),
    rule('share:list_all_projects', ADMIN, 'List the shares of all projects.', 'GET /shares?all_tenants=1'),
    rule('share:list_by_host', ADMIN, 'List shares by host.', 'GET /shares?host='),
    rule(
        'share:list_by_share_server_id', ADMIN, 'List shares by share server.', 'GET /shares?share_server_id='
    ),
    rule(
        'share:list_shares_in_deferred_deletion_states',
        ADMIN,
        'Show shares with deferred deletion.',
        'GET /shares',
    ),
    rule(
        'share:update',
        MEMBER,
        'Change the name, description or visibility of a share.',
        'PUT /shares/{share_id}',
    ),
    rule(
        'share:set_public_share',
        ADMIN,
        'Make a share public, visible to every project.',
        'PUT /shares/{share_id}',
    ),
    rule('share:delete', MEMBER, 'Delete a share.', 'DELETE /shares/{share_id}'),
    rule('share:force_delete', ADMIN, 'Delete a share in any status.', 'POST /shares/{share_id}/action'),
    rule('share:soft_delete', MEMBER, 'Move a share to the recycle bin.', 'POST /shares/{share_id}/action'),
    rule('share:restore', MEMBER, 'Restore a share from the recycle bin.', 'POST /shares/{share_id}/action'),
    rule(
        'share:reset_task_state',
        ADMIN,
        'Reset the task state of a share by hand.',
        'POST /shares/{share_id}/action',
    ),
    rule(
        'share:reset_status', ADMIN, 'Reset the status of a share by hand.', 'POST /shares/{share_id}/action'
    ),
    rule('share:extend', MEMBER, 'Extend a share.', 'POST /shares/{share_id}/action'),
    rule(
        'share:force_extend',
        ADMIN,
        "Extend a share without a check of the pool's capacity.",
        'POST /shares/{share_id}/action',
    ),
    rule('share:shrink', MEMBER, 'Shrink a share.', 'POST /shares/{share_id}/action'),
    rule(
        'share:revert_to_snapshot',
        MEMBER,
        'Revert a share to its latest snapshot.',
        'POST /shares/{share_id}/action',
    ),
    rule(
        'share:get_share_metadata',
        READER,
        'Show metadata of a share.',
        'GET /shares/{share_id}/metadata',
        'GET /shares/{share_id}/metadata/{key}',
    ),
    rule(
        'share:update_share_metadata',
        MEMBER,
        'Set metadata of a share.',
        'PUT /shares/{share_id}/metadata',
        'POST /shares/{share_id}/metadata',
        'POST /shares/{share_id}/metadata/{key}',
    ),
    rule(
        'share:delete_share_metadata',
        MEMBER,
        'Delete metadata of a share.',
        'DELETE /shares/{share_id}/metadata/{key}',
    ),
    rule(
        'share:update_admin_only_metadata',
        ADMIN,
        'Set or delete share metadata with keys that only administrators may change.',
        'PUT /shares/{share_id}/metadata',
    ),
    rule('share:show_host', ADMIN, 'Show the host and share server of a share.', 'GET /shares/{share_id}'),
]
