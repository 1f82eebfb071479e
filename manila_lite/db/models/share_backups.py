# SPDX-License-Identifier: Apache-2.0
"""Backups of shares, which are kept at another place than their shares."""

import sqlalchemy as sa

from manila_lite.db.models.base import Id, Name, by_change, metadata, primary_key, ref, times

share_backups = sa.Table(
    'share_backups',
    metadata,
    primary_key(),
    *times(),
    # No cascade: a share with backups cannot be deleted.
    ref('share_id', 'shares.id'),
    sa.Column('project_id', Name, nullable=False),
    sa.Column('user_id', Name),
    sa.Column('name', Name),
    sa.Column('description', Name),
    sa.Column('status', Name, nullable=False),
    sa.Column('size', sa.Integer, nullable=False),
    sa.Column('backup_type', Name, nullable=False),
    # The backend that made the backup, and that will delete it.
    sa.Column('host', Name, nullable=False),
    # The zone of the share, by name: a backup may outlive a zone.
    sa.Column('availability_zone', Name),
    sa.Column('progress', sa.String(32), nullable=False),
    sa.Column('restore_progress', sa.String(32), nullable=False),
    # The share that the backup is being restored to, or was last.
    sa.Column('target_share_id', Id, index=True),
    # The address from which the backend's manager mounts the share while it copies it, if it does so as a client.
    sa.Column('copier', Name, key='copy_client'),
    sa.Index('ix_share_backups_project_id_created_at', 'project_id', 'created_at'),
    sa.Index('ix_share_backups_created_at', 'created_at'),
    by_change('share_backups'),
)
