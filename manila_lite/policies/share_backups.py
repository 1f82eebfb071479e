# SPDX-License-Identifier: Apache-2.0
"""Backups of shares."""

from manila_lite.policies.base import ADMIN, MEMBER, READER, rule

CREATE = 'share_backup:create'
GET = 'share_backup:get'
GET_ALL = 'share_backup:get_all'
GET_ALL_PROJECTS = 'share_backup:get_all_project'
UPDATE = 'share_backup:update'
DELETE = 'share_backup:delete'
RESTORE = 'share_backup:restore'
RESET_STATUS = 'share_backup:reset_status'

_ONE = '/share-backups/{backup_id}'

RULES = [
    rule(CREATE, MEMBER, 'Create a backup of a share.', 'POST /share-backups'),
    rule(GET, READER, 'Show a backup.', f'GET {_ONE}'),
    rule(GET_ALL, READER, 'List backups.', 'GET /share-backups', 'GET /share-backups/detail'),
    rule(GET_ALL_PROJECTS, ADMIN, 'List the backups of all projects.', 'GET /share-backups?all_tenants=1'),
    rule(UPDATE, MEMBER, 'Change the name or description of a backup.', f'PUT {_ONE}'),
    rule(DELETE, MEMBER, 'Delete a backup.', f'DELETE {_ONE}'),
    rule(RESTORE, MEMBER, 'Restore a backup to a share.', f'POST {_ONE}/action'),
    rule(RESET_STATUS, ADMIN, 'Reset the status of a backup by hand.', f'POST {_ONE}/action'),
]
