# SPDX-License-Identifier: Apache-2.0
"""Transfers of shares from one project to another."""

from manila_lite.policies.base import ADMIN, MEMBER, READER, rule

GET = 'share_transfer:get'
GET_ALL = 'share_transfer:get_all'
GET_ALL_DETAIL = 'share_transfer:get_all_detail'
GET_ALL_PROJECTS = 'share_transfer:get_all_tenant'
CREATE = 'share_transfer:create'
ACCEPT = 'share_transfer:accept'
DELETE = 'share_transfer:delete'

RULES = [
    rule(GET, READER, 'Show a transfer of a share.', 'GET /share-transfers/{transfer_id}'),
    rule(GET_ALL, READER, 'List transfers of shares.', 'GET /share-transfers'),
    rule(GET_ALL_DETAIL, READER, 'List transfers of shares with details.', 'GET /share-transfers/detail'),
    rule(
        GET_ALL_PROJECTS,
        ADMIN,
        'List the transfers of all projects.',
        'GET /share-transfers?all_tenants=1',
        'GET /share-transfers/detail?all_tenants=1',
    ),
    rule(
        CREATE,
        MEMBER,
        'Create a transfer of a share. Any project with its key can accept it.',
        'POST /share-transfers',
    ),
    rule(ACCEPT, MEMBER, 'Accept a transfer of a share.', 'POST /share-transfers/{transfer_id}/accept'),
    rule(DELETE, MEMBER, 'Delete a transfer of a share.', 'DELETE /share-transfers/{transfer_id}'),
]
