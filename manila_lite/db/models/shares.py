# SPDX-License-Identifier: Apache-2.0
"""Shares, their instances, their export locations and metadata."""

import sqlalchemy as sa

from manila_lite.db.models.base import (
    Id,
    Name,
    Secret,
    Time,
    by_change,
    flag,
    metadata,
    pairs,
    primary_key,
    ref,
    times,
)

shares = sa.Table(
    'shares',
    metadata,
    primary_key(),
    *times(),
    sa.Column('project_id', Name, nullable=False),
    sa.Column('user_id', Name),
    sa.Column('name', Name),
    sa.Column('description', Name),
    sa.Column('size', sa.Integer, nullable=False),
    # The target size of a running resize. Quotas count the larger of the two.
    sa.Column('target_size', sa.Integer),
    sa.Column('share_proto', sa.String(32), nullable=False),
    flag('is_public'),
    sa.Column('snapshot_id', Id),
    flag('snapshot_support'),
    flag('create_share_from_snapshot_support'),
    flag('revert_to_snapshot_support'),
    flag('mount_snapshot_support'),
    sa.Column('replication_type', Name),
    sa.Column('share_group_id', Id, index=True),
    # The member of a group snapshot that the share was made from.
    sa.Column('source_share_group_snapshot_member_id', Id, index=True),
    sa.Column('task_state', Name),
    flag('is_soft_deleted'),
    sa.Column('scheduled_to_be_deleted_at', Time),
    sa.Column('source_backup_id', Id),
    sa.Column('mount_point_name', Name),
    sa.Column('encryption_key_ref', Id),
    flag('snapshot_inherit_share_access_support'),
    # Deleted by its owner, who no longer sees it; the backend still holds it. No quota counts it.
    flag('is_going', key='deletion_deferred'),
    # In the order of lists, so that a page is read without sorting all rows.
    sa.Index('ix_shares_project_id_created_at_id', 'project_id', 'created_at', 'id'),
    sa.Index('ix_shares_created_at_id', 'created_at', 'id'),
    sa.Index('ix_shares_name', 'name'),
    sa.Index('ix_shares_snapshot_id', 'snapshot_id'),
    # Names are parts of paths at backends, and projects with the same prefix share them.
    sa.Index('ix_shares_mount_point_name', 'mount_point_name', unique=True),
    sa.Index('ix_shares_scheduled_to_be_deleted_at', 'scheduled_to_be_deleted_at'),
    by_change('shares'),
)

share_instances = sa.Table(
    'share_instances',
    metadata,
    primary_key(),
    *times(),
    ref('share_id', 'shares.id', cascade=True),
    sa.Column('host', Name),
    sa.Column('status', Name, nullable=False),
    sa.Column('previous_status', Name),
    sa.Column('access_rules_status', Name, nullable=False),
    ref('share_type_id', 'share_types.id', nullable=True),
    ref('availability_zone_id', 'availability_zones.id', nullable=True, index=False),
    # No foreign keys: instances are older than the tables of networks and servers, and may name ids that never existed.
    # Whoever deletes a network or a server locks its row and checks these columns.
    sa.Column('share_network_id', Id, index=True),
    sa.Column('share_server_id', Id, index=True),
    sa.Column('replica_state', Name),
    # When the active replica had the data that this one has.
    sa.Column('synced_at', Time),
    flag('cast_rules_to_readonly'),
    # Not the share's main instance: the target of a migration, its remains, or a replica. ``db.shares`` passes over it.
    flag('is_aside', key='is_secondary'),
    # The clients as which the host of the target mounts the share, while it copies it to this instance, and the key that the
    # share's backend gave it, encrypted.
    sa.Column('copier', Name, key='copy_client'),
    sa.Column('copier_key', Secret, key='copy_client_key'),
    sa.Column('progress', sa.String(32)),
    sa.Column('scheduled_at', Time),
    sa.Column('launched_at', Time),
    sa.Column('terminated_at', Time),
    sa.Index('ix_share_instances_host_status', 'host', 'status'),
    by_change('share_instances'),
)

share_metadata = pairs('share_metadata', 'shares')

export_locations = sa.Table(
    'export_locations',
    metadata,
    primary_key(),
    *times(),
    ref('share_instance_id', 'share_instances.id', cascade=True),
    sa.Column('position', sa.Integer, nullable=False),
    sa.Column('path', sa.String(2000), nullable=False),
    flag('is_admin_only'),
    flag('preferred'),
)

export_location_metadata = pairs('export_location_metadata', 'export_locations')
