# SPDX-License-Identifier: Apache-2.0
"""Migration of single shares."""

from manila_lite.policies.base import ADMIN, rule

_ACTION = 'POST /shares/{share_id}/action'

START = 'share:migration_start'
COMPLETE = 'share:migration_complete'
CANCEL = 'share:migration_cancel'
PROGRESS = 'share:migration_get_progress'

RULES = [
    rule(START, ADMIN, 'Start the migration of a share to another backend.', _ACTION),
    rule(COMPLETE, ADMIN, 'Complete the migration of a share: the copy replaces the source.', _ACTION),
    rule(CANCEL, ADMIN, 'Cancel the migration of a share.', _ACTION),
    rule(
        PROGRESS,
        ADMIN,
        'Show the progress of the migration of a share.',
        _ACTION,
        'GET /shares/{share_id}/migration-progress',
    ),
]
