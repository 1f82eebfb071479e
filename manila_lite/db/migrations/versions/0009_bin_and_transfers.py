# SPDX-License-Identifier: Apache-2.0
"""Deferred deletion of shares and snapshots, the recycle bin, transfers, and mount point names."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = '0009'
down_revision = '0008'

TIME = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), 'mysql', 'mariadb')


def upgrade() -> None:
    for table in ('shares', 'snapshots'):
        op.add_column(table, sa.Column('is_going', sa.Boolean(), server_default=sa.false(), nullable=False))
    # Until now a name was only stored: no share is mounted by one, and several may have the same.
    op.execute('UPDATE shares SET mount_point_name = NULL')
    op.create_index('ix_shares_mount_point_name', 'shares', ['mount_point_name'], unique=True)
    op.create_index(
        'ix_shares_scheduled_to_be_deleted_at', 'shares', ['scheduled_to_be_deleted_at'], unique=False
    )
    op.create_table(
        'share_transfers',
        sa.Column('id', sa.String(length=36), nullable=False),
        sa.Column('created_at', TIME, nullable=False),
        sa.Column('updated_at', TIME, nullable=True),
        sa.Column('share_id', sa.String(length=36), nullable=False),
        sa.Column('project_id', sa.String(length=255), nullable=False),
        sa.Column('name', sa.String(length=255), nullable=True),
        sa.Column('salt', sa.String(length=64), nullable=False),
        sa.Column('key_hash', sa.String(length=64), nullable=False),
        sa.Column('expires_at', TIME, nullable=False),
        sa.ForeignKeyConstraint(
            ['share_id'], ['shares.id'], name='fk_share_transfers_share_id', ondelete='CASCADE'
        ),
        sa.PrimaryKeyConstraint('id', name='pk_share_transfers'),
    )
    op.create_index('ix_share_transfers_share_id', 'share_transfers', ['share_id'], unique=True)
    op.create_index(
        'ix_share_transfers_project_id_created_at',
        'share_transfers',
        ['project_id', 'created_at'],
        unique=False,
    )
    op.create_index('ix_share_transfers_expires_at', 'share_transfers', ['expires_at'], unique=False)
