# SPDX-License-Identifier: Apache-2.0
"""Migration of share servers."""

from manila_lite.policies.base import ADMIN, rule

_ACTION = 'POST /share-servers/{share_server_id}/action'


RULES = [
    rule(
        'share_server:share_server_migration_check',
        ADMIN,
        'Check whether a share server can migrate to another backend.',
        _ACTION,
    ),
    rule(
        'share_server:share_server_migration_start',
        ADMIN,
        'Start the migration of a share server to another backend.',
        _ACTION,
    ),
    rule(
        'share_server:share_server_migration_complete',
        ADMIN,
        'Complete the migration of a share server: the copy replaces the source.',
        _ACTION,
    ),
    rule(
        'share_server:share_server_migration_cancel',
        ADMIN,
        'Cancel the migration of a share server.',
        _ACTION,
    ),
    rule(
        'share_server:share_server_migration_get_progress',
        ADMIN,
        'Show the progress of the migration of a share server.',
        _ACTION,
    ),
    rule(
        'share_server:share_server_reset_task_state',
        ADMIN,
        'Reset the task state of a share server by hand.',
        _ACTION,
    ),
]
