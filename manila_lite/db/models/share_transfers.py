# SPDX-License-Identifier: Apache-2.0
"""Transfers: offers of a share to a user who has the key."""

import sqlalchemy as sa

from manila_lite.db.models.base import Id, Name, Time, metadata, primary_key, times

# A share has one offer at a time. It is deleted with the share, and when it is accepted or withdrawn.
share_transfers = sa.Table(
    'share_transfers',
    metadata,
    primary_key(),
    *times(),
    sa.Column('share_id', Id, sa.ForeignKey('shares.id', ondelete='CASCADE'), nullable=False),
    # The project that offers the share.
    sa.Column('project_id', Name, nullable=False),
    sa.Column('name', Name),
    sa.Column('salt', sa.String(64), nullable=False),
    sa.Column('key_hash', sa.String(64), nullable=False),
    sa.Column('expires_at', Time, nullable=False),
    sa.Index('ix_share_transfers_share_id', 'share_id', unique=True),
    sa.Index('ix_share_transfers_project_id_created_at', 'project_id', 'created_at'),
    sa.Index('ix_share_transfers_expires_at', 'expires_at'),
)
