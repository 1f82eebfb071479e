# SPDX-License-Identifier: Apache-2.0
"""Managing existing shares and snapshots of backends, and unmanaging them."""

from manila_lite.policies.base import ADMIN, rule

MANAGE = 'share:manage'
UNMANAGE = 'share:unmanage'
MANAGE_SNAPSHOT = 'share_snapshot:manage_snapshot'
UNMANAGE_SNAPSHOT = 'share_snapshot:unmanage_snapshot'

RULES = [
    rule(MANAGE, ADMIN, 'Manage an existing share of a backend.', 'POST /shares/manage'),
    rule(
        UNMANAGE,
        ADMIN,
        'Unmanage a share. It stays at its backend.',
        'POST /shares/{share_id}/action',
        'POST /os-share-unmanage/{share_id}/unmanage',
    ),
    rule(MANAGE_SNAPSHOT, ADMIN, 'Manage an existing snapshot of a backend.', 'POST /snapshots/manage'),
    rule(
        UNMANAGE_SNAPSHOT,
        ADMIN,
        'Unmanage a snapshot. It stays at its backend.',
        'POST /snapshots/{snapshot_id}/action',
    ),
]
