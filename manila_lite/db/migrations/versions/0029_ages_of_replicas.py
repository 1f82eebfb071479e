# SPDX-License-Identifier: Apache-2.0
"""Replicas: of which time their data is."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = '0029'
down_revision = '0028'

TIME = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), 'mysql', 'mariadb')


def upgrade() -> None:
    op.add_column('share_instances', sa.Column('synced_at', TIME, nullable=True))
