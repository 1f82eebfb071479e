# SPDX-License-Identifier: Apache-2.0
"""The time of the last warning that a share is nearly full, for the stream of events."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = '0035'
down_revision = '0034'

TIME = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), 'mysql', 'mariadb')


def upgrade() -> None:
    op.add_column('share_usage', sa.Column('told_at', TIME, nullable=True))
    op.create_index('ix_share_usage_told_at', 'share_usage', ['told_at'])
