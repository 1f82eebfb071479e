# SPDX-License-Identifier: Apache-2.0
"""How full shares are: the last measured value of each, and a history with falling resolution."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = '0032'
down_revision = '0031'

TIME = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), 'mysql', 'mariadb')


def upgrade() -> None:
    op.create_table(
        'share_usage',
        sa.Column('share_id', sa.String(length=36), nullable=False),
        sa.Column('measured_at', TIME, nullable=False),
        sa.Column('used_bytes', sa.BigInteger(), nullable=False),
        sa.Column('limit_bytes', sa.BigInteger(), nullable=False),
        sa.Column('snapshot_bytes', sa.BigInteger(), nullable=True),
        sa.Column('files', sa.BigInteger(), nullable=True),
        sa.Column(
            'percent_full',
            sa.Float().with_variant(mysql.DOUBLE(asdecimal=False), 'mysql', 'mariadb'),
            nullable=False,
        ),
        sa.Column('told_percent', sa.Integer(), server_default='0', nullable=False),
        sa.Column('growth_refused', sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.ForeignKeyConstraint(
            ['share_id'], ['shares.id'], name='fk_share_usage_share_id', ondelete='CASCADE'
        ),
        sa.PrimaryKeyConstraint('share_id', name='pk_share_usage'),
    )
    op.create_index('ix_share_usage_percent_full_share_id', 'share_usage', ['percent_full', 'share_id'])
    op.create_table(
        'share_usage_history',
        sa.Column('share_id', sa.String(length=36), nullable=False),
        sa.Column('resolution', sa.Integer(), nullable=False),
        sa.Column('slot', sa.Integer(), nullable=False),
        sa.Column('measured_at', TIME, nullable=False),
        sa.Column('used_bytes', sa.BigInteger(), nullable=False),
        sa.Column('limit_bytes', sa.BigInteger(), nullable=False),
        sa.Column('snapshot_bytes', sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(
            ['share_id'], ['shares.id'], name='fk_share_usage_history_share_id', ondelete='CASCADE'
        ),
        sa.PrimaryKeyConstraint('share_id', 'resolution', 'slot', name='pk_share_usage_history'),
    )
