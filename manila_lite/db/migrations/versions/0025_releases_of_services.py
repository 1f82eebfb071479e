# SPDX-License-Identifier: Apache-2.0
"""The release that each service runs, and the heartbeat that told it."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

TIME = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), 'mysql', 'mariadb')

revision = '0025'
down_revision = '0024'


def upgrade() -> None:
    op.add_column('services', sa.Column('release', sa.String(length=64), nullable=True))
    op.add_column('services', sa.Column('release_at', TIME, nullable=True))
