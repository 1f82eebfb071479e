# SPDX-License-Identifier: Apache-2.0
"""How full the shares of projects and of pools were together."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = '0034'
down_revision = '0033'

TIME = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), 'mysql', 'mariadb')


def upgrade() -> None:
    op.create_table(
        'share_usage_sums',
        sa.Column('kind', sa.String(length=7), nullable=False),
        sa.Column('owner', sa.String(length=255), nullable=False),
        sa.Column('resolution', sa.Integer(), nullable=False),
        sa.Column('slot', sa.Integer(), nullable=False),
        sa.Column('measured_at', TIME, nullable=False),
        sa.Column('shares', sa.Integer(), nullable=False),
        sa.Column('used_bytes', sa.BigInteger(), nullable=False),
        sa.Column('limit_bytes', sa.BigInteger(), nullable=False),
        sa.Column('snapshot_bytes', sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint('kind', 'owner', 'resolution', 'slot', name='pk_share_usage_sums'),
    )
