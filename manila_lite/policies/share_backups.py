# SPDX-License-Identifier: Apache-2.0
"""Backups of shares."""

from manila_lite.policies.base import ADMIN, MEMBER, READER, rule

_ONE = '/share-backups/{backup_id}'

RULES = [
    rule('share_backup:create', MEMBER, 'Create a backup of a share.', 'POST /share-backups'),
    rule('share_backup:get', READER, 'Show a backup.', f'GET {_ONE}'),
    rule('share_backup:get_all', READER, 'List backups.', 'GET /share-backups', 'GET /share-backups/detail'),
    rule(
        'share_backup:get_all_project',
        ADMIN,
        'List the backups of all projects.',
        'GET /share-backups?all_tenants=1',
    ),
    rule('share_backup:update', MEMBER, 'Change the name or description of a backup.', f'PUT {_ONE}'),
    rule('share_backup:delete', MEMBER, 'Delete a backup.', f'DELETE {_ONE}'),
    rule('share_backup:restore', MEMBER, 'Restore a backup to a share.', f'POST {_ONE}/action'),
    rule('share_backup:reset_status', ADMIN, 'Reset the status of a backup by hand.', f'POST {_ONE}/action'),
]
