# SPDX-License-Identifier: Apache-2.0
"""Share networks, their subnets, security services, and share servers in several subnets.

The rows of share_server_share_network_subnet_mappings say which subnets a server is in, from the start: this product
never had a column share_servers.share_network_subnet_id to fill them from. share_instances refers to networks and
servers without foreign keys, since its values could be anything before.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

TIME = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), 'mysql', 'mariadb')

revision = '0004'
down_revision = '0003'


def upgrade() -> None:
    op.create_table(
        'security_services',
        sa.Column('id', sa.String(length=36), nullable=False),
        sa.Column('created_at', TIME, nullable=False),
        sa.Column('updated_at', TIME, nullable=True),
        sa.Column('project_id', sa.String(length=255), nullable=False),
        sa.Column('type', sa.String(length=32), nullable=False),
        sa.Column('name', sa.String(length=255), nullable=True),
        sa.Column('description', sa.String(length=255), nullable=True),
        sa.Column('dns_ip', sa.String(length=255), nullable=True),
        sa.Column('server', sa.String(length=255), nullable=True),
        sa.Column('domain', sa.String(length=255), nullable=True),
        sa.Column('user', sa.String(length=255), nullable=True),
        sa.Column('password', sa.String(length=255), nullable=True),
        sa.Column('ou', sa.String(length=255), nullable=True),
        sa.Column('default_ad_site', sa.String(length=255), nullable=True),
        sa.PrimaryKeyConstraint('id', name='pk_security_services'),
    )
    op.create_index(
        'ix_security_services_project_id_created_at',
        'security_services',
        ['project_id', 'created_at'],
        unique=False,
    )
    op.create_table(
        'share_networks',
        sa.Column('id', sa.String(length=36), nullable=False),
        sa.Column('created_at', TIME, nullable=False),
        sa.Column('updated_at', TIME, nullable=True),
        sa.Column('project_id', sa.String(length=255), nullable=False),
        sa.Column('user_id', sa.String(length=255), nullable=True),
        sa.Column('name', sa.String(length=255), nullable=True),
        sa.Column('description', sa.String(length=255), nullable=True),
        sa.Column('status', sa.String(length=255), nullable=False),
        sa.Column('is_going', sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.PrimaryKeyConstraint('id', name='pk_share_networks'),
    )
    op.create_index('ix_share_networks_created_at', 'share_networks', ['created_at'], unique=False)
    op.create_index(
        'ix_share_networks_project_id_created_at',
        'share_networks',
        ['project_id', 'created_at'],
        unique=False,
    )
    op.create_table(
        'share_network_security_services',
        sa.Column('share_network_id', sa.String(length=36), nullable=False),
        sa.Column('security_service_id', sa.String(length=36), nullable=False),
        sa.Column('created_at', TIME, nullable=False),
        sa.ForeignKeyConstraint(
            ['security_service_id'],
            ['security_services.id'],
            name='fk_share_network_security_services_security_service_id',
        ),
        sa.ForeignKeyConstraint(
            ['share_network_id'],
            ['share_networks.id'],
            name='fk_share_network_security_services_share_network_id',
            ondelete='CASCADE',
        ),
        sa.PrimaryKeyConstraint(
            'share_network_id', 'security_service_id', name='pk_share_network_security_services'
        ),
    )
    op.create_index(
        'ix_share_network_security_services_security_service_id',
        'share_network_security_services',
        ['security_service_id'],
        unique=False,
    )
    op.create_table(
        'share_network_subnets',
        sa.Column('id', sa.String(length=36), nullable=False),
        sa.Column('created_at', TIME, nullable=False),
        sa.Column('updated_at', TIME, nullable=True),
        sa.Column('share_network_id', sa.String(length=36), nullable=False),
        sa.Column('availability_zone_id', sa.String(length=36), nullable=True),
        sa.Column('neutron_net_id', sa.String(length=36), nullable=True),
        sa.Column('neutron_subnet_id', sa.String(length=36), nullable=True),
        sa.Column('network_type', sa.String(length=32), nullable=True),
        sa.Column('segmentation_id', sa.Integer(), nullable=True),
        sa.Column('cidr', sa.String(length=64), nullable=True),
        sa.Column('gateway', sa.String(length=64), nullable=True),
        sa.Column('mtu', sa.Integer(), nullable=True),
        sa.Column('ip_version', sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(
            ['availability_zone_id'],
            ['availability_zones.id'],
            name='fk_share_network_subnets_availability_zone_id',
        ),
        sa.ForeignKeyConstraint(
            ['share_network_id'],
            ['share_networks.id'],
            name='fk_share_network_subnets_share_network_id',
            ondelete='CASCADE',
        ),
        sa.PrimaryKeyConstraint('id', name='pk_share_network_subnets'),
    )
    op.create_index(
        'ix_share_network_subnets_availability_zone_id',
        'share_network_subnets',
        ['availability_zone_id'],
        unique=False,
    )
    op.create_index(
        'ix_share_network_subnets_neutron_subnet_id',
        'share_network_subnets',
        ['neutron_subnet_id'],
        unique=False,
    )
    op.create_index(
        'ix_share_network_subnets_share_network_id',
        'share_network_subnets',
        ['share_network_id'],
        unique=False,
    )
    op.create_table(
        'share_servers',
        sa.Column('id', sa.String(length=36), nullable=False),
        sa.Column('created_at', TIME, nullable=False),
        sa.Column('updated_at', TIME, nullable=True),
        sa.Column('share_network_id', sa.String(length=36), nullable=False),
        sa.Column('host', sa.String(length=255), nullable=False),
        sa.Column('status', sa.String(length=255), nullable=False),
        sa.Column('task_state', sa.String(length=255), nullable=True),
        sa.Column('source_share_server_id', sa.String(length=36), nullable=True),
        sa.Column('identifier', sa.String(length=255), nullable=True),
        sa.Column('is_auto_deletable', sa.Boolean(), server_default=sa.true(), nullable=False),
        sa.Column('security_service_update_support', sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column(
            'network_allocation_update_support', sa.Boolean(), server_default=sa.false(), nullable=False
        ),
        sa.Column(
            'share_server_multiple_subnet_support', sa.Boolean(), server_default=sa.false(), nullable=False
        ),
        sa.Column(
            'share_replicas_migration_support', sa.Boolean(), server_default=sa.false(), nullable=False
        ),
        sa.Column('encryption_key_ref', sa.String(length=36), nullable=True),
        sa.ForeignKeyConstraint(
            ['share_network_id'], ['share_networks.id'], name='fk_share_servers_share_network_id'
        ),
        sa.PrimaryKeyConstraint('id', name='pk_share_servers'),
    )
    op.create_index('ix_share_servers_host_status', 'share_servers', ['host', 'status'], unique=False)
    op.create_index('ix_share_servers_share_network_id', 'share_servers', ['share_network_id'], unique=False)
    op.create_index(
        'ix_share_servers_source_share_server_id', 'share_servers', ['source_share_server_id'], unique=False
    )
    op.create_table(
        'network_allocations',
        sa.Column('id', sa.String(length=36), nullable=False),
        sa.Column('created_at', TIME, nullable=False),
        sa.Column('updated_at', TIME, nullable=True),
        sa.Column('share_server_id', sa.String(length=36), nullable=False),
        sa.Column('share_network_subnet_id', sa.String(length=36), nullable=True),
        sa.Column('neutron_subnet_id', sa.String(length=36), nullable=True),
        sa.Column('ip_address', sa.String(length=64), nullable=False),
        sa.Column('mac_address', sa.String(length=32), nullable=True),
        sa.Column('port_id', sa.String(length=36), nullable=True),
        sa.Column('label', sa.String(length=255), nullable=True),
        sa.Column('network_type', sa.String(length=32), nullable=True),
        sa.Column('segmentation_id', sa.Integer(), nullable=True),
        sa.Column('cidr', sa.String(length=64), nullable=True),
        sa.Column('gateway', sa.String(length=64), nullable=True),
        sa.Column('mtu', sa.Integer(), nullable=True),
        sa.Column('ip_version', sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(
            ['share_network_subnet_id'],
            ['share_network_subnets.id'],
            name='fk_network_allocations_share_network_subnet_id',
        ),
        sa.ForeignKeyConstraint(
            ['share_server_id'], ['share_servers.id'], name='fk_network_allocations_share_server_id'
        ),
        sa.PrimaryKeyConstraint('id', name='pk_network_allocations'),
        sa.UniqueConstraint(
            'neutron_subnet_id', 'ip_address', name='uq_network_allocations_neutron_subnet_id_ip_address'
        ),
    )
    op.create_index(
        'ix_network_allocations_share_network_subnet_id',
        'network_allocations',
        ['share_network_subnet_id'],
        unique=False,
    )
    op.create_index(
        'ix_network_allocations_share_server_id', 'network_allocations', ['share_server_id'], unique=False
    )
    op.create_table(
        'share_network_subnet_metadata',
        sa.Column('owner_id', sa.String(length=36), nullable=False),
        sa.Column('key', sa.String(length=255), nullable=False),
        sa.Column('value', sa.String(length=1023), nullable=False),
        sa.ForeignKeyConstraint(
            ['owner_id'],
            ['share_network_subnets.id'],
            name='fk_share_network_subnet_metadata_owner_id',
            ondelete='CASCADE',
        ),
        sa.PrimaryKeyConstraint('owner_id', 'key', name='pk_share_network_subnet_metadata'),
    )
    op.create_index(
        'ix_share_network_subnet_metadata_key_value',
        'share_network_subnet_metadata',
        ['key', 'owner_id'],
        unique=False,
    )
    op.create_table(
        'share_server_details',
        sa.Column('owner_id', sa.String(length=36), nullable=False),
        sa.Column('key', sa.String(length=255), nullable=False),
        sa.Column('value', sa.String(length=1023), nullable=False),
        sa.ForeignKeyConstraint(
            ['owner_id'], ['share_servers.id'], name='fk_share_server_details_owner_id', ondelete='CASCADE'
        ),
        sa.PrimaryKeyConstraint('owner_id', 'key', name='pk_share_server_details'),
    )
    op.create_index(
        'ix_share_server_details_key_value', 'share_server_details', ['key', 'owner_id'], unique=False
    )
    op.create_table(
        'share_server_share_network_subnet_mappings',
        sa.Column('share_server_id', sa.String(length=36), nullable=False),
        sa.Column('share_network_subnet_id', sa.String(length=36), nullable=False),
        sa.Column('created_at', TIME, nullable=False),
        sa.ForeignKeyConstraint(
            ['share_network_subnet_id'], ['share_network_subnets.id'], name='fk_server_subnet_mappings_subnet'
        ),
        sa.ForeignKeyConstraint(
            ['share_server_id'],
            ['share_servers.id'],
            name='fk_server_subnet_mappings_server',
            ondelete='CASCADE',
        ),
        sa.PrimaryKeyConstraint(
            'share_server_id', 'share_network_subnet_id', name='pk_server_subnet_mappings'
        ),
    )
    op.create_index(
        'ix_server_subnet_mappings_subnet',
        'share_server_share_network_subnet_mappings',
        ['share_network_subnet_id'],
        unique=False,
    )
    op.create_index(
        'ix_share_instances_share_network_id', 'share_instances', ['share_network_id'], unique=False
    )
    op.create_index(
        'ix_share_instances_share_server_id', 'share_instances', ['share_server_id'], unique=False
    )
