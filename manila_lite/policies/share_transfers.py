# SPDX-License-Identifier: Apache-2.0
"""Transfers of shares from one project to another."""

from manila_lite.policies.base import ADMIN, MEMBER, READER, rule

RULES = [
    rule('share_transfer:get', READER, 'Show a transfer of a share.', 'GET /share-transfers/{transfer_id}'),
    rule('share_transfer:get_all', READER, 'List transfers of shares.', 'GET /share-transfers'),
    rule(
        'share_transfer:get_all_detail',
        READER,
        'List transfers of shares with details.',
        'GET /share-transfers/detail',
    ),
    rule(
        'share_transfer:get_all_tenant',
        ADMIN,
        'List the transfers of all projects.',
        'GET /share-transfers?all_tenants=1',
        'GET /share-transfers/detail?all_tenants=1',
    ),
    rule(
        'share_transfer:create',
        MEMBER,
        'Create a transfer of a share. Any project with its key can accept it.',
        'POST /share-transfers',
    ),
    rule(
        'share_transfer:accept',
        MEMBER,
        'Accept a transfer of a share.',
        'POST /share-transfers/{transfer_id}/accept',
    ),
    rule(
        'share_transfer:delete',
        MEMBER,
        'Delete a transfer of a share.',
        'DELETE /share-transfers/{transfer_id}',
    ),
]
