# SPDX-License-Identifier: Apache-2.0
"""Backups of shares."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = '0014'
down_revision = '0013'

TIME = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), 'mysql', 'mariadb')


def upgrade() -> None:
    op.create_table(
        'share_backups',
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
        sa.Column('backup_type', sa.String(length=255), nullable=False),
        sa.Column('host', sa.String(length=255), nullable=False),
        sa.Column('availability_zone', sa.String(length=255), nullable=True),
        sa.Column('progress', sa.String(length=32), nullable=False),
        sa.Column('restore_progress', sa.String(length=32), nullable=False),
        sa.Column('target_share_id', sa.String(length=36), nullable=True),
        sa.ForeignKeyConstraint(['share_id'], ['shares.id'], name='fk_share_backups_share_id'),
        sa.PrimaryKeyConstraint('id', name='pk_share_backups'),
    )
    op.create_index('ix_share_backups_share_id', 'share_backups', ['share_id'])
    op.create_index('ix_share_backups_target_share_id', 'share_backups', ['target_share_id'])
    op.create_index('ix_share_backups_project_id_created_at', 'share_backups', ['project_id', 'created_at'])
    op.create_index('ix_share_backups_created_at', 'share_backups', ['created_at'])
