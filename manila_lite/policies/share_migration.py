# SPDX-License-Identifier: Apache-2.0
"""Migration of single shares."""

from manila_lite.policies.base import ADMIN, rule

_ACTION = 'POST /shares/{share_id}/action'

START = 'share:migration_start'
COMPLETE = 'share:migration_complete'
CANCEL = 'share:migration_cancel'
PROGRESS = 'share:migration_get_progress'

RULES = [
    rule(START, ADMIN, 'Begin to copy a share to another backend.', _ACTION),
    rule(COMPLETE, ADMIN, 'Let a copied share take the place of the share.', _ACTION),
    rule(CANCEL, ADMIN, 'Call the migration of a share off.', _ACTION),
    rule(PROGRESS, ADMIN, 'See how far the migration of a share is.', _ACTION, 'GET /shares/{share_id}/migration-progress'),
]
