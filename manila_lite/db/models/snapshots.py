# SPDX-License-Identifier: Apache-2.0
"""Snapshots of shares."""

import sqlalchemy as sa

from manila_lite.db.models.base import Name, by_change, flag, metadata, pairs, primary_key, ref, times

snapshots = sa.Table(
    'snapshots',
    metadata,
    primary_key(),
    *times(),
    # No cascade: a share with snapshots cannot be deleted.
    ref('share_id', 'shares.id'),
    sa.Column('project_id', Name, nullable=False),
    sa.Column('user_id', Name),
    sa.Column('name', Name),
    sa.Column('description', Name),
    sa.Column('status', Name, nullable=False),
    sa.Column('size', sa.Integer, nullable=False),
    sa.Column('share_size', sa.Integer, nullable=False),
    sa.Column('share_proto', sa.String(32), nullable=False),
    sa.Column('progress', sa.String(32)),
    sa.Column('provider_location', Name),
    # As in ``shares``.
    flag('is_going', key='deletion_deferred'),
    sa.Index('ix_snapshots_project_id_created_at', 'project_id', 'created_at'),
    sa.Index('ix_snapshots_created_at', 'created_at'),
    by_change('snapshots'),
)

snapshot_metadata = pairs('snapshot_metadata', 'snapshots')

snapshot_access_rules = sa.Table(
    'snapshot_access_rules',
    metadata,
    primary_key(),
    *times(),
    ref('snapshot_id', 'snapshots.id', cascade=True),
    sa.Column('access_type', sa.String(32), nullable=False),
    sa.Column('access_to', Name, nullable=False),
    sa.Column('state', Name, nullable=False),
)

snapshot_export_locations = sa.Table(
    'snapshot_export_locations',
    metadata,
    primary_key(),
    *times(),
    ref('snapshot_id', 'snapshots.id', cascade=True),
    sa.Column('position', sa.Integer, nullable=False),
    sa.Column('path', sa.String(2000), nullable=False),
    flag('is_admin_only'),
)
