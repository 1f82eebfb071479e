# SPDX-License-Identifier: Apache-2.0
"""Share servers."""

from manila_lite.policies.base import ADMIN, rule

RULES = [
    rule('share_server:index', ADMIN, 'List share servers.', 'GET /share-servers'),
    rule('share_server:show', ADMIN, 'Show a share server.', 'GET /share-servers/{share_server_id}'),
    rule(
        'share_server:details',
        ADMIN,
        'Show the backend details of a share server.',
        'GET /share-servers/{share_server_id}/details',
    ),
    rule(
        'share_server:delete',
        ADMIN,
        'Delete a share server that has no shares.',
        'DELETE /share-servers/{share_server_id}',
    ),
    rule(
        'share_server:reset_status',
        ADMIN,
        'Reset the status of a share server by hand.',
        'POST /share-servers/{share_server_id}/action',
    ),
    rule(
        'share_server:manage_share_server',
        ADMIN,
        'Manage an existing share server of a backend.',
        'POST /share-servers/manage',
    ),
    rule(
        'share_server:unmanage_share_server',
        ADMIN,
        'Unmanage a share server. It stays at its backend.',
        'POST /share-servers/{share_server_id}/action',
    ),
]
