# SPDX-License-Identifier: Apache-2.0
"""Share groups with their types, and snapshots of groups with their members."""

import sqlalchemy as sa

from manila_lite.db.models.base import Id, Name, by_change, flag, metadata, pairs, primary_key, ref, times


def _of_types(name: str, owner: str) -> sa.Table:
    """Return a table of the share types of each ``owner`` (table name). Share types in it cannot be deleted."""
    return sa.Table(
        name,
        metadata,
        sa.Column('owner_id', Id, sa.ForeignKey(f'{owner}.id', ondelete='CASCADE'), primary_key=True),
        sa.Column('share_type_id', Id, sa.ForeignKey('share_types.id'), primary_key=True, index=True),
    )


share_group_types = sa.Table(
    'share_group_types',
    metadata,
    primary_key(),
    *times(),
    sa.Column('name', Name, nullable=False, unique=True),
    flag('is_public', default=True),
)

share_group_type_specs = pairs('share_group_type_specs', 'share_group_types')

share_group_type_projects = sa.Table(
    'share_group_type_projects',
    metadata,
    sa.Column(
        'share_group_type_id', Id, sa.ForeignKey('share_group_types.id', ondelete='CASCADE'), primary_key=True
    ),
    sa.Column('project_id', Name, primary_key=True),
)

share_group_type_share_types = _of_types('share_group_type_share_types', 'share_group_types')

share_groups = sa.Table(
    'share_groups',
    metadata,
    primary_key(),
    *times(),
    sa.Column('project_id', Name, nullable=False),
    sa.Column('user_id', Name),
    sa.Column('name', Name),
    sa.Column('description', Name),
    sa.Column('status', Name, nullable=False),
    sa.Column('host', Name),
    ref('share_group_type_id', 'share_group_types.id'),
    ref('availability_zone_id', 'availability_zones.id', nullable=True, index=False),
    # No foreign keys, as in share_instances: whoever deletes a network or a server checks these columns.
    sa.Column('share_network_id', Id, index=True),
    sa.Column('share_server_id', Id, index=True),
    sa.Column('source_share_group_snapshot_id', Id, index=True),
    # How its backend takes snapshots: of all shares of a pool, or of the backend, at one moment; null: one after
    # another.
    sa.Column('consistent_snapshot_support', sa.String(8)),
    sa.Index('ix_share_groups_project_id_created_at', 'project_id', 'created_at'),
    sa.Index('ix_share_groups_created_at', 'created_at'),
    by_change('share_groups'),
)

share_group_share_types = _of_types('share_group_share_types', 'share_groups')

share_group_snapshots = sa.Table(
    'share_group_snapshots',
    metadata,
    primary_key(),
    *times(),
    # No cascade: a group with snapshots cannot be deleted.
    ref('share_group_id', 'share_groups.id'),
    sa.Column('project_id', Name, nullable=False),
    sa.Column('user_id', Name),
    sa.Column('name', Name),
    sa.Column('description', Name),
    sa.Column('status', Name, nullable=False),
    sa.Index('ix_share_group_snapshots_project_id_created_at', 'project_id', 'created_at'),
    sa.Index('ix_share_group_snapshots_created_at', 'created_at'),
    by_change('share_group_snapshots'),
)

# The snapshot of each share in a group snapshot. Not in ``snapshots``: it is created and deleted with the others.
share_group_snapshot_members = sa.Table(
    'share_group_snapshot_members',
    metadata,
    primary_key(),
    *times(),
    ref('share_group_snapshot_id', 'share_group_snapshots.id', cascade=True),
    ref('share_id', 'shares.id'),
    sa.Column('size', sa.Integer, nullable=False),
    sa.Column('share_proto', sa.String(32), nullable=False),
    sa.Column('provider_location', Name),
)
