# SPDX-License-Identifier: Apache-2.0
"""Managing existing shares and snapshots of backends, and unmanaging them."""

from manila_lite.policies.base import ADMIN, rule

RULES = [
    rule('share:manage', ADMIN, 'Manage an existing share of a backend.', 'POST /shares/manage'),
    rule(
        'share:unmanage',
        ADMIN,
        'Unmanage a share. It stays at its backend.',
        'POST /shares/{share_id}/action',
        'POST /os-share-unmanage/{share_id}/unmanage',
    ),
    rule(
        'share_snapshot:manage_snapshot',
        ADMIN,
        'Manage an existing snapshot of a backend.',
        'POST /snapshots/manage',
    ),
    rule(
        'share_snapshot:unmanage_snapshot',
        ADMIN,
        'Unmanage a snapshot. It stays at its backend.',
        'POST /snapshots/{snapshot_id}/action',
    ),
]
