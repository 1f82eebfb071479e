# SPDX-License-Identifier: Apache-2.0
"""Metadata and snapshots of replicas. A share whose type asks for replication becomes its own active replica."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = '0012'
down_revision = '0011'

TIME = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), 'mysql', 'mariadb')


def upgrade() -> None:
    op.create_table(
        'share_instance_metadata',
        sa.Column('owner_id', sa.String(length=36), nullable=False),
        sa.Column('key', sa.String(length=255), nullable=False),
        sa.Column('value', sa.String(length=1023), nullable=False),
        sa.ForeignKeyConstraint(
            ['owner_id'],
            ['share_instances.id'],
            name='fk_share_instance_metadata_owner_id',
            ondelete='CASCADE',
        ),
        sa.PrimaryKeyConstraint('owner_id', 'key', name='pk_share_instance_metadata'),
    )
    op.create_index(
        'ix_share_instance_metadata_key_value', 'share_instance_metadata', ['key', 'owner_id'], unique=False
    )
    op.create_table(
        'replica_snapshots',
        sa.Column('id', sa.String(length=36), nullable=False),
        sa.Column('created_at', TIME, nullable=False),
        sa.Column('updated_at', TIME, nullable=True),
        sa.Column('snapshot_id', sa.String(length=36), nullable=False),
        sa.Column('share_instance_id', sa.String(length=36), nullable=False),
        sa.Column('provider_location', sa.String(length=255), nullable=True),
        sa.ForeignKeyConstraint(
            ['snapshot_id'], ['snapshots.id'], name='fk_replica_snapshots_snapshot_id', ondelete='CASCADE'
        ),
        sa.ForeignKeyConstraint(
            ['share_instance_id'],
            ['share_instances.id'],
            name='fk_replica_snapshots_share_instance_id',
            ondelete='CASCADE',
        ),
        sa.PrimaryKeyConstraint('id', name='pk_replica_snapshots'),
    )
    op.create_index('ix_replica_snapshots_snapshot_id', 'replica_snapshots', ['snapshot_id'], unique=False)
    op.create_index(
        'ix_replica_snapshots_share_instance_id', 'replica_snapshots', ['share_instance_id'], unique=False
    )
    op.execute(
        "UPDATE share_instances SET replica_state = 'active' WHERE is_aside = false AND replica_state IS NULL AND "
        'share_id IN (SELECT id FROM shares WHERE replication_type IS NOT NULL)'
    )
