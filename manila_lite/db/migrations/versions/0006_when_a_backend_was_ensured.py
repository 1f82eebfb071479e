# SPDX-License-Identifier: Apache-2.0
"""The time when a service's shares were last ensured, and its configuration then."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

TIME = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), 'mysql', 'mariadb')

revision = '0006'
down_revision = '0005'


def upgrade() -> None:
    op.add_column('services', sa.Column('ensured_at', TIME, nullable=True))
    op.add_column('services', sa.Column('ensured_as', sa.String(length=255), nullable=True))
