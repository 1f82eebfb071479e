# SPDX-License-Identifier: Apache-2.0
"""Locks that users and services put on shares and access rules."""

import sqlalchemy as sa

from manila_lite.db.models.base import Id, Name, metadata, primary_key, ref, times

# A lock is deleted with its resource, in the very statement that deletes that: not before, and not after.
resource_locks = sa.Table(
    'resource_locks',
    metadata,
    primary_key(),
    *times(),
    sa.Column('user_id', Name),
    sa.Column('project_id', Name, nullable=False),
    # The share that is locked, or the share of the locked rule.
    ref('share_id', 'shares.id', cascade=True),
    ref('access_id', 'access_rules.id', nullable=True, cascade=True),
    sa.Column('resource_action', sa.String(8), nullable=False),
    sa.Column('lock_context', sa.String(8), nullable=False),
    sa.Column('lock_reason', sa.String(1023)),
    # The rule's lock because of which the share is locked.
    ref('because_of', 'resource_locks.id', nullable=True, cascade=True),
    # The transfer of the share with which the lock is deleted: the user who offers the share may lift it, and wants
    # that.
    sa.Column('transfer_id', Id),
    sa.Index('ix_resource_locks_project_id_created_at', 'project_id', 'created_at'),
)
