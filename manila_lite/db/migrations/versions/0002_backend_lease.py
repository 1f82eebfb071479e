# SPDX-License-Identifier: Apache-2.0
"""Leases of services: of several processes for one backend, one works."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

TIME = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), 'mysql', 'mariadb')

revision = '0002'
down_revision = '0001'


def upgrade() -> None:
    op.add_column('services', sa.Column('lease_owner', sa.String(length=255), nullable=True))
    op.add_column('services', sa.Column('lease_expires_at', TIME, nullable=True))
