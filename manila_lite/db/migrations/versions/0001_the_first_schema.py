# SPDX-License-Identifier: Apache-2.0
"""The first schema."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

TIME = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), 'mysql', 'mariadb')
JSON = sa.Text().with_variant(mysql.MEDIUMTEXT(), 'mysql', 'mariadb')

revision = '0001'
down_revision = None


def upgrade() -> None:
    op.create_table(
        'availability_zones',
        sa.Column('id', sa.String(length=36), nullable=False),
        sa.Column('created_at', TIME, nullable=False),
        sa.Column('updated_at', TIME, nullable=True),
        sa.Column('name', sa.String(length=255), nullable=False),
        sa.PrimaryKeyConstraint('id', name='pk_availability_zones'),
        sa.UniqueConstraint('name', name='uq_availability_zones_name'),
    )
    op.create_table(
        'messages',
        sa.Column('id', sa.String(length=36), nullable=False),
        sa.Column('created_at', TIME, nullable=False),
        sa.Column('updated_at', TIME, nullable=True),
        sa.Column('project_id', sa.String(length=255), nullable=False),
        sa.Column('request_id', sa.String(length=255), nullable=True),
        sa.Column('resource_type', sa.String(length=255), nullable=True),
        sa.Column('resource_id', sa.String(length=36), nullable=True),
        sa.Column('action_id', sa.String(length=10), nullable=False),
        sa.Column('detail_id', sa.String(length=10), nullable=False),
        sa.Column('message_level', sa.String(length=255), nullable=False),
        sa.Column('text', sa.Text(), nullable=True),
        sa.Column('expires_at', TIME, nullable=True),
        sa.PrimaryKeyConstraint('id', name='pk_messages'),
    )
    op.create_index('ix_messages_expires_at', 'messages', ['expires_at'], unique=False)
    op.create_index(
        'ix_messages_project_id_created_at', 'messages', ['project_id', 'created_at'], unique=False
    )
    op.create_index('ix_messages_resource_id', 'messages', ['resource_id'], unique=False)
    op.create_table(
        'operations',
        sa.Column('id', sa.String(length=36), nullable=False),
        sa.Column('created_at', TIME, nullable=False),
        sa.Column('updated_at', TIME, nullable=True),
        sa.Column('kind', sa.String(length=64), nullable=False),
        sa.Column('resource_type', sa.String(length=64), nullable=False),
        sa.Column('resource_id', sa.String(length=36), nullable=False),
        sa.Column('project_id', sa.String(length=255), nullable=True),
        sa.Column('user_id', sa.String(length=255), nullable=True),
        sa.Column('request_id', sa.String(length=255), nullable=True),
        sa.Column('topic', sa.String(length=32), nullable=False),
        sa.Column('host', sa.String(length=255), server_default='', nullable=False),
        sa.Column('lane', sa.String(length=8), nullable=False),
        sa.Column('open_key', sa.String(length=255), nullable=True),
        sa.Column('serial', sa.String(length=255), nullable=True),
        sa.Column('state', sa.String(length=16), nullable=False),
        sa.Column('step', sa.Integer(), server_default='0', nullable=False),
        sa.Column('undoing', sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column('wanted', sa.Integer(), server_default='1', nullable=False),
        sa.Column('attempts', sa.Integer(), server_default='0', nullable=False),
        sa.Column('data', JSON, nullable=False),
        sa.Column('error', sa.Text(), nullable=True),
        sa.Column('next_run_at', TIME, nullable=False),
        sa.Column('owner', sa.String(length=255), nullable=True),
        sa.Column('lease_expires_at', TIME, nullable=True),
        sa.Column('finished_at', TIME, nullable=True),
        sa.PrimaryKeyConstraint('id', name='pk_operations'),
        sa.UniqueConstraint('open_key', name='uq_operations_open_key'),
    )
    op.create_index(
        'ix_operations_due', 'operations', ['topic', 'host', 'state', 'next_run_at'], unique=False
    )
    op.create_index('ix_operations_finished_at', 'operations', ['finished_at'], unique=False)
    op.create_index('ix_operations_resource_id', 'operations', ['resource_id'], unique=False)
    op.create_table(
        'pools',
        sa.Column('host', sa.String(length=255), nullable=False),
        sa.Column('backend_host', sa.String(length=255), nullable=False),
        sa.Column('total_gb', sa.Float(), nullable=False),
        sa.Column('free_gb', sa.Float(), nullable=False),
        sa.Column('allocated_gb', sa.Float(), server_default='0', nullable=False),
        sa.Column('claimed_gb', sa.Float(), server_default='0', nullable=False),
        sa.Column('provisioned_gb', sa.Float(), server_default='0', nullable=False),
        sa.Column('reserved_percentage', sa.Integer(), server_default='0', nullable=False),
        sa.Column('thin_provisioning', sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column('max_over_subscription_ratio', sa.Float(), server_default='1', nullable=False),
        sa.Column('capabilities', JSON, nullable=False),
        sa.Column('generation', sa.Integer(), server_default='0', nullable=False),
        sa.Column('reported_at', TIME, nullable=False),
        sa.PrimaryKeyConstraint('host', name='pk_pools'),
    )
    op.create_index('ix_pools_backend_host', 'pools', ['backend_host'], unique=False)
    op.create_table(
        'quota_classes',
        sa.Column('created_at', TIME, nullable=False),
        sa.Column('updated_at', TIME, nullable=True),
        sa.Column('class_name', sa.String(length=255), nullable=False),
        sa.Column('resource', sa.String(length=64), nullable=False),
        sa.Column('hard_limit', sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint('class_name', 'resource', name='pk_quota_classes'),
    )
    op.create_table(
        'quota_locks',
        sa.Column('project_id', sa.String(length=255), nullable=False),
        sa.Column('turn', sa.BigInteger(), server_default='0', nullable=False),
        sa.PrimaryKeyConstraint('project_id', name='pk_quota_locks'),
    )
    op.create_table(
        'quotas',
        sa.Column('created_at', TIME, nullable=False),
        sa.Column('updated_at', TIME, nullable=True),
        sa.Column('project_id', sa.String(length=255), nullable=False),
        sa.Column('user_id', sa.String(length=255), server_default='', nullable=False),
        sa.Column('share_type_id', sa.String(length=36), server_default='', nullable=False),
        sa.Column('resource', sa.String(length=64), nullable=False),
        sa.Column('hard_limit', sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint('project_id', 'user_id', 'share_type_id', 'resource', name='pk_quotas'),
    )
    op.create_table(
        'share_types',
        sa.Column('id', sa.String(length=36), nullable=False),
        sa.Column('created_at', TIME, nullable=False),
        sa.Column('updated_at', TIME, nullable=True),
        sa.Column('name', sa.String(length=255), nullable=False),
        sa.Column('description', sa.String(length=255), nullable=True),
        sa.Column('is_public', sa.Boolean(), server_default=sa.true(), nullable=False),
        sa.PrimaryKeyConstraint('id', name='pk_share_types'),
        sa.UniqueConstraint('name', name='uq_share_types_name'),
    )
    op.create_table(
        'shares',
        sa.Column('id', sa.String(length=36), nullable=False),
        sa.Column('created_at', TIME, nullable=False),
        sa.Column('updated_at', TIME, nullable=True),
        sa.Column('project_id', sa.String(length=255), nullable=False),
        sa.Column('user_id', sa.String(length=255), nullable=True),
        sa.Column('name', sa.String(length=255), nullable=True),
        sa.Column('description', sa.String(length=255), nullable=True),
        sa.Column('size', sa.Integer(), nullable=False),
        sa.Column('target_size', sa.Integer(), nullable=True),
        sa.Column('share_proto', sa.String(length=32), nullable=False),
        sa.Column('is_public', sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column('snapshot_id', sa.String(length=36), nullable=True),
        sa.Column('snapshot_support', sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column(
            'create_share_from_snapshot_support', sa.Boolean(), server_default=sa.false(), nullable=False
        ),
        sa.Column('revert_to_snapshot_support', sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column('mount_snapshot_support', sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column('replication_type', sa.String(length=255), nullable=True),
        sa.Column('share_group_id', sa.String(length=36), nullable=True),
        sa.Column('task_state', sa.String(length=255), nullable=True),
        sa.Column('is_soft_deleted', sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column('scheduled_to_be_deleted_at', TIME, nullable=True),
        sa.Column('source_backup_id', sa.String(length=36), nullable=True),
        sa.Column('mount_point_name', sa.String(length=255), nullable=True),
        sa.Column('encryption_key_ref', sa.String(length=36), nullable=True),
        sa.Column(
            'snapshot_inherit_share_access_support', sa.Boolean(), server_default=sa.false(), nullable=False
        ),
        sa.PrimaryKeyConstraint('id', name='pk_shares'),
    )
    op.create_index('ix_shares_created_at', 'shares', ['created_at'], unique=False)
    op.create_index('ix_shares_name', 'shares', ['name'], unique=False)
    op.create_index('ix_shares_project_id_created_at', 'shares', ['project_id', 'created_at'], unique=False)
    op.create_index('ix_shares_snapshot_id', 'shares', ['snapshot_id'], unique=False)
    op.create_table(
        'access_rules',
        sa.Column('id', sa.String(length=36), nullable=False),
        sa.Column('created_at', TIME, nullable=False),
        sa.Column('updated_at', TIME, nullable=True),
        sa.Column('share_id', sa.String(length=36), nullable=False),
        sa.Column('access_type', sa.String(length=32), nullable=False),
        sa.Column('access_to', sa.String(length=255), nullable=False),
        sa.Column('access_level', sa.String(length=8), nullable=False),
        sa.Column('access_key', sa.String(length=255), nullable=True),
        sa.Column('state', sa.String(length=255), nullable=False),
        sa.ForeignKeyConstraint(
            ['share_id'], ['shares.id'], name='fk_access_rules_share_id', ondelete='CASCADE'
        ),
        sa.PrimaryKeyConstraint('id', name='pk_access_rules'),
    )
    op.create_index('ix_access_rules_share_id', 'access_rules', ['share_id'], unique=False)
    op.create_table(
        'services',
        sa.Column('id', sa.Integer(), autoincrement=True, nullable=False),
        sa.Column('created_at', TIME, nullable=False),
        sa.Column('updated_at', TIME, nullable=True),
        sa.Column('host', sa.String(length=255), nullable=False),
        sa.Column('binary', sa.String(length=255), nullable=False),
        sa.Column('topic', sa.String(length=255), nullable=True),
        sa.Column('availability_zone_id', sa.String(length=36), nullable=True),
        sa.Column('heartbeat_at', TIME, nullable=True),
        sa.Column('stopped', sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column('disabled', sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column('disabled_reason', sa.String(length=255), nullable=True),
        sa.Column('ensuring', sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.ForeignKeyConstraint(
            ['availability_zone_id'], ['availability_zones.id'], name='fk_services_availability_zone_id'
        ),
        sa.PrimaryKeyConstraint('id', name='pk_services'),
        sa.UniqueConstraint('host', 'binary', name='uq_services_host_binary'),
    )
    op.create_table(
        'share_instances',
        sa.Column('id', sa.String(length=36), nullable=False),
        sa.Column('created_at', TIME, nullable=False),
        sa.Column('updated_at', TIME, nullable=True),
        sa.Column('share_id', sa.String(length=36), nullable=False),
        sa.Column('host', sa.String(length=255), nullable=True),
        sa.Column('status', sa.String(length=255), nullable=False),
        sa.Column('previous_status', sa.String(length=255), nullable=True),
        sa.Column('access_rules_status', sa.String(length=255), nullable=False),
        sa.Column('share_type_id', sa.String(length=36), nullable=True),
        sa.Column('availability_zone_id', sa.String(length=36), nullable=True),
        sa.Column('share_network_id', sa.String(length=36), nullable=True),
        sa.Column('share_server_id', sa.String(length=36), nullable=True),
        sa.Column('replica_state', sa.String(length=255), nullable=True),
        sa.Column('cast_rules_to_readonly', sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column('progress', sa.String(length=32), nullable=True),
        sa.Column('scheduled_at', TIME, nullable=True),
        sa.Column('launched_at', TIME, nullable=True),
        sa.Column('terminated_at', TIME, nullable=True),
        sa.ForeignKeyConstraint(
            ['availability_zone_id'],
            ['availability_zones.id'],
            name='fk_share_instances_availability_zone_id',
        ),
        sa.ForeignKeyConstraint(
            ['share_id'], ['shares.id'], name='fk_share_instances_share_id', ondelete='CASCADE'
        ),
        sa.ForeignKeyConstraint(
            ['share_type_id'], ['share_types.id'], name='fk_share_instances_share_type_id'
        ),
        sa.PrimaryKeyConstraint('id', name='pk_share_instances'),
    )
    op.create_index('ix_share_instances_host_status', 'share_instances', ['host', 'status'], unique=False)
    op.create_index('ix_share_instances_share_id', 'share_instances', ['share_id'], unique=False)
    op.create_index('ix_share_instances_share_type_id', 'share_instances', ['share_type_id'], unique=False)
    op.create_table(
        'share_metadata',
        sa.Column('owner_id', sa.String(length=36), nullable=False),
        sa.Column('key', sa.String(length=255), nullable=False),
        sa.Column('value', sa.String(length=1023), nullable=False),
        sa.ForeignKeyConstraint(
            ['owner_id'], ['shares.id'], name='fk_share_metadata_owner_id', ondelete='CASCADE'
        ),
        sa.PrimaryKeyConstraint('owner_id', 'key', name='pk_share_metadata'),
    )
    op.create_index('ix_share_metadata_key_value', 'share_metadata', ['key', 'owner_id'], unique=False)
    op.create_table(
        'share_type_extra_specs',
        sa.Column('owner_id', sa.String(length=36), nullable=False),
        sa.Column('key', sa.String(length=255), nullable=False),
        sa.Column('value', sa.String(length=1023), nullable=False),
        sa.ForeignKeyConstraint(
            ['owner_id'], ['share_types.id'], name='fk_share_type_extra_specs_owner_id', ondelete='CASCADE'
        ),
        sa.PrimaryKeyConstraint('owner_id', 'key', name='pk_share_type_extra_specs'),
    )
    op.create_index(
        'ix_share_type_extra_specs_key_value', 'share_type_extra_specs', ['key', 'owner_id'], unique=False
    )
    op.create_table(
        'share_type_projects',
        sa.Column('share_type_id', sa.String(length=36), nullable=False),
        sa.Column('project_id', sa.String(length=255), nullable=False),
        sa.ForeignKeyConstraint(
            ['share_type_id'],
            ['share_types.id'],
            name='fk_share_type_projects_share_type_id',
            ondelete='CASCADE',
        ),
        sa.PrimaryKeyConstraint('share_type_id', 'project_id', name='pk_share_type_projects'),
    )
    op.create_table(
        'snapshots',
        sa.Column('id', sa.String(length=36), nullable=False),
        sa.Column('created_at', TIME, nullable=False),
        sa.Column('updated_at', TIME, nullable=True),
        sa.Column('share_id', sa.String(length=36), nullable=False),
        sa.Column('project_id', sa.String(length=255), nullable=False),
        sa.Column('user_id', sa.String(length=255), nullable=True),
        sa.Column('name', sa.String(length=255), nullable=True),
        sa.Column('description', sa.String(length=255), nullable=True),
        sa.Column('status', sa.String(length=255), nullable=False),
        sa.Column('size', sa.Integer(), nullable=False),
        sa.Column('share_size', sa.Integer(), nullable=False),
        sa.Column('share_proto', sa.String(length=32), nullable=False),
        sa.Column('progress', sa.String(length=32), nullable=True),
        sa.Column('provider_location', sa.String(length=255), nullable=True),
        sa.ForeignKeyConstraint(['share_id'], ['shares.id'], name='fk_snapshots_share_id'),
        sa.PrimaryKeyConstraint('id', name='pk_snapshots'),
    )
    op.create_index('ix_snapshots_created_at', 'snapshots', ['created_at'], unique=False)
    op.create_index(
        'ix_snapshots_project_id_created_at', 'snapshots', ['project_id', 'created_at'], unique=False
    )
    op.create_index('ix_snapshots_share_id', 'snapshots', ['share_id'], unique=False)
    op.create_table(
        'access_rule_metadata',
        sa.Column('owner_id', sa.String(length=36), nullable=False),
        sa.Column('key', sa.String(length=255), nullable=False),
        sa.Column('value', sa.String(length=1023), nullable=False),
        sa.ForeignKeyConstraint(
            ['owner_id'], ['access_rules.id'], name='fk_access_rule_metadata_owner_id', ondelete='CASCADE'
        ),
        sa.PrimaryKeyConstraint('owner_id', 'key', name='pk_access_rule_metadata'),
    )
    op.create_index(
        'ix_access_rule_metadata_key_value', 'access_rule_metadata', ['key', 'owner_id'], unique=False
    )
    op.create_table(
        'export_locations',
        sa.Column('id', sa.String(length=36), nullable=False),
        sa.Column('created_at', TIME, nullable=False),
        sa.Column('updated_at', TIME, nullable=True),
        sa.Column('share_instance_id', sa.String(length=36), nullable=False),
        sa.Column('position', sa.Integer(), nullable=False),
        sa.Column('path', sa.String(length=2000), nullable=False),
        sa.Column('is_admin_only', sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column('preferred', sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.ForeignKeyConstraint(
            ['share_instance_id'],
            ['share_instances.id'],
            name='fk_export_locations_share_instance_id',
            ondelete='CASCADE',
        ),
        sa.PrimaryKeyConstraint('id', name='pk_export_locations'),
    )
    op.create_index(
        'ix_export_locations_share_instance_id', 'export_locations', ['share_instance_id'], unique=False
    )
    op.create_table(
        'snapshot_metadata',
        sa.Column('owner_id', sa.String(length=36), nullable=False),
        sa.Column('key', sa.String(length=255), nullable=False),
        sa.Column('value', sa.String(length=1023), nullable=False),
        sa.ForeignKeyConstraint(
            ['owner_id'], ['snapshots.id'], name='fk_snapshot_metadata_owner_id', ondelete='CASCADE'
        ),
        sa.PrimaryKeyConstraint('owner_id', 'key', name='pk_snapshot_metadata'),
    )
    op.create_index('ix_snapshot_metadata_key_value', 'snapshot_metadata', ['key', 'owner_id'], unique=False)
    op.create_table(
        'export_location_metadata',
        sa.Column('owner_id', sa.String(length=36), nullable=False),
        sa.Column('key', sa.String(length=255), nullable=False),
        sa.Column('value', sa.String(length=1023), nullable=False),
        sa.ForeignKeyConstraint(
            ['owner_id'],
            ['export_locations.id'],
            name='fk_export_location_metadata_owner_id',
            ondelete='CASCADE',
        ),
        sa.PrimaryKeyConstraint('owner_id', 'key', name='pk_export_location_metadata'),
    )
    op.create_index(
        'ix_export_location_metadata_key_value', 'export_location_metadata', ['key', 'owner_id'], unique=False
    )
