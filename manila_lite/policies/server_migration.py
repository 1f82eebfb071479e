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
    rule(CHECK, ADMIN, 'Ask whether a share server could move to another backend.', _ACTION),
    rule(START, ADMIN, 'Begin to copy a share server to another backend.', _ACTION),
    rule(COMPLETE, ADMIN, 'Let a copied share server take over.', _ACTION),
    rule(CANCEL, ADMIN, 'Call the migration of a share server off.', _ACTION),
    rule(PROGRESS, ADMIN, 'See how far the migration of a share server is.', _ACTION),
    rule(RESET_TASK_STATE, ADMIN, "Set a share server's task state by hand.", _ACTION),
]
