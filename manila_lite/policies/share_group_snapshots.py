# SPDX-License-Identifier: Apache-2.0
"""Snapshots of share groups."""

from manila_lite.policies.base import ADMIN, MEMBER, READER, rule

_ONE = '/share-group-snapshots/{share_group_snapshot_id}'

RULES = [
    rule(
        'share_group_snapshot:create',
        MEMBER,
        'Create a snapshot of a share group.',
        'POST /share-group-snapshots',
    ),
    rule(
        'share_group_snapshot:get',
        READER,
        'Show a share group snapshot and its members.',
        f'GET {_ONE}',
        f'GET {_ONE}/members',
    ),
    rule(
        'share_group_snapshot:get_all',
        READER,
        'List share group snapshots.',
        'GET /share-group-snapshots',
        'GET /share-group-snapshots/detail',
    ),
    rule(
        'share_group_snapshot:list_all_projects',
        ADMIN,
        'List the share group snapshots of all projects.',
        'GET /share-group-snapshots?all_tenants=1',
    ),
    rule(
        'share_group_snapshot:update',
        MEMBER,
        'Change the name or description of a share group snapshot.',
        f'PUT {_ONE}',
    ),
    rule('share_group_snapshot:delete', MEMBER, 'Delete a share group snapshot.', f'DELETE {_ONE}'),
    rule(
        'share_group_snapshot:force_delete',
        ADMIN,
        'Delete a share group snapshot in any status.',
        f'POST {_ONE}/action',
    ),
    rule(
        'share_group_snapshot:reset_status',
        ADMIN,
        'Reset the status of a share group snapshot by hand.',
        f'POST {_ONE}/action',
    ),
]
