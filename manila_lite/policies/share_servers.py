# SPDX-License-Identifier: Apache-2.0
"""Share servers."""

from manila_lite.policies.base import ADMIN, rule

INDEX = 'share_server:index'
SHOW = 'share_server:show'
DETAILS = 'share_server:details'
DELETE = 'share_server:delete'
RESET_STATUS = 'share_server:reset_status'
MANAGE = 'share_server:manage_share_server'
UNMANAGE = 'share_server:unmanage_share_server'

RULES = [
    rule(INDEX, ADMIN, 'List share servers.', 'GET /share-servers'),
    rule(SHOW, ADMIN, 'Show a share server.', 'GET /share-servers/{share_server_id}'),
    rule(
        DETAILS,
        ADMIN,
        'Show the backend details of a share server.',
        'GET /share-servers/{share_server_id}/details',
    ),
    rule(
        DELETE, ADMIN, 'Delete a share server that has no shares.', 'DELETE /share-servers/{share_server_id}'
    ),
    rule(
        RESET_STATUS,
        ADMIN,
        'Reset the status of a share server by hand.',
        'POST /share-servers/{share_server_id}/action',
    ),
    rule(MANAGE, ADMIN, 'Manage an existing share server of a backend.', 'POST /share-servers/manage'),
    rule(
        UNMANAGE,
        ADMIN,
        'Unmanage a share server. It stays at its backend.',
        'POST /share-servers/{share_server_id}/action',
    ),
]
