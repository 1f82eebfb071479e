# SPDX-License-Identifier: Apache-2.0
"""Migration of single shares."""

from manila_lite.policies.base import ADMIN, rule

_ACTION = 'POST /shares/{share_id}/action'


RULES = [
    rule('share:migration_start', ADMIN, 'Start the migration of a share to another backend.', _ACTION),
    rule(
        'share:migration_complete',
        ADMIN,
        'Complete the migration of a share: the copy replaces the source.',
        _ACTION,
    ),
    rule('share:migration_cancel', ADMIN, 'Cancel the migration of a share.', _ACTION),
    rule(
        'share:migration_get_progress',
        ADMIN,
        'Show the progress of the migration of a share.',
        _ACTION,
        'GET /shares/{share_id}/migration-progress',
    ),
]
