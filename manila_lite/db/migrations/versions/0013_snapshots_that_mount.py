# SPDX-License-Identifier: Apache-2.0
"""Access rules and export locations of snapshots; QoS types."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = '0013'
down_revision = '0012'

TIME = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), 'mysql', 'mariadb')


def _of_snapshots(name: str, *columns: sa.Column) -> None:
    op.create_table(
        name,
        sa.Column('id', sa.String(length=36), nullable=False),
        sa.Column('created_at', TIME, nullable=False),
        sa.Column('updated_at', TIME, nullable=True),
        sa.Column('snapshot_id', sa.String(length=36), nullable=False),
        *columns,
        sa.ForeignKeyConstraint(
            ['snapshot_id'], ['snapshots.id'], name=f'fk_{name}_snapshot_id', ondelete='CASCADE'
        ),
        sa.PrimaryKeyConstraint('id', name=f'pk_{name}'),
    )
    op.create_index(f'ix_{name}_snapshot_id', name, ['snapshot_id'])


def upgrade() -> None:
    _of_snapshots(
        'snapshot_access_rules',
        sa.Column('access_type', sa.String(length=32), nullable=False),
        sa.Column('access_to', sa.String(length=255), nullable=False),
        sa.Column('state', sa.String(length=255), nullable=False),
    )
    _of_snapshots(
        'snapshot_export_locations',
        sa.Column('position', sa.Integer(), nullable=False),
        sa.Column('path', sa.String(length=2000), nullable=False),
        sa.Column('is_admin_only', sa.Boolean(), server_default=sa.false(), nullable=False),
    )
    op.create_table(
        'qos_types',
        sa.Column('id', sa.String(length=36), nullable=False),
        sa.Column('created_at', TIME, nullable=False),
        sa.Column('updated_at', TIME, nullable=True),
        sa.Column('name', sa.String(length=255), nullable=False),
        sa.Column('description', sa.String(length=255), nullable=True),
        sa.PrimaryKeyConstraint('id', name='pk_qos_types'),
        sa.UniqueConstraint('name', name='uq_qos_types_name'),
    )
    op.create_table(
        'qos_type_specs',
        sa.Column('owner_id', sa.String(length=36), nullable=False),
        sa.Column('key', sa.String(length=255), nullable=False),
        sa.Column('value', sa.String(length=1023), nullable=False),
        sa.ForeignKeyConstraint(
            ['owner_id'], ['qos_types.id'], name='fk_qos_type_specs_owner_id', ondelete='CASCADE'
        ),
        sa.PrimaryKeyConstraint('owner_id', 'key', name='pk_qos_type_specs'),
    )
    op.create_index('ix_qos_type_specs_key_value', 'qos_type_specs', ['key', 'owner_id'])
