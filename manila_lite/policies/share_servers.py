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
    rule(SHOW, ADMIN, 'See a share server.', 'GET /share-servers/{share_server_id}'),
    rule(DETAILS, ADMIN, 'See what the backend keeps of a share server.', 'GET /share-servers/{share_server_id}/details'),
    rule(DELETE, ADMIN, 'Delete a share server that has no shares.', 'DELETE /share-servers/{share_server_id}'),
    rule(RESET_STATUS, ADMIN, "Set a share server's status by hand.", 'POST /share-servers/{share_server_id}/action'),
    rule(MANAGE, ADMIN, 'Take over a share server that a backend has already.', 'POST /share-servers/manage'),
    rule(UNMANAGE, ADMIN, 'Let go of a share server, which stays at its backend.',
         'POST /share-servers/{share_server_id}/action'),
]
