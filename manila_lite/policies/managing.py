# SPDX-License-Identifier: Apache-2.0
"""Shares and snapshots that backends have already, and those that are left to them."""

from manila_lite.policies.base import ADMIN, rule

MANAGE = 'share:manage'
UNMANAGE = 'share:unmanage'
MANAGE_SNAPSHOT = 'share_snapshot:manage_snapshot'
UNMANAGE_SNAPSHOT = 'share_snapshot:unmanage_snapshot'

RULES = [
    rule(MANAGE, ADMIN, 'Take over a share that a backend has already.', 'POST /shares/manage'),
    rule(UNMANAGE, ADMIN, 'Let go of a share, which stays at its backend.', 'POST /shares/{share_id}/action',
         'POST /os-share-unmanage/{share_id}/unmanage'),
    rule(MANAGE_SNAPSHOT, ADMIN, 'Take over a snapshot that a backend has already.', 'POST /snapshots/manage'),
    rule(UNMANAGE_SNAPSHOT, ADMIN, 'Let go of a snapshot, which stays at its backend.',
         'POST /snapshots/{snapshot_id}/action'),
]
