# SPDX-License-Identifier: Apache-2.0
"""Migration of share servers."""

from manila_lite.policies.base import ADMIN, rule

_ACTION = 'POST /share-servers/{share_server_id}/action'

CHECK = 'share_server:share_server_migration_check'
START = 'share_server:share_server_migration_start'
COMPLETE = 'share_server:share_server_migration_complete'
CANCEL = 'share_server:share_server_migration_cancel'
PROGRESS = 'share_server:share_server_migration_get_progress'
RESET_TASK_STATE = 'share_server:share_server_reset_task_state'

RULES = [
    rule(CHECK, ADMIN, 'Check whether a share server can migrate to another backend.', _ACTION),
    rule(START, ADMIN, 'Start the migration of a share server to another backend.', _ACTION),
    rule(COMPLETE, ADMIN, 'Complete the migration of a share server: the copy replaces the source.', _ACTION),
    rule(CANCEL, ADMIN, 'Cancel the migration of a share server.', _ACTION),
    rule(PROGRESS, ADMIN, 'Show the progress of the migration of a share server.', _ACTION),
    rule(RESET_TASK_STATE, ADMIN, 'Reset the task state of a share server by hand.', _ACTION),
]
