# SPDX-License-Identifier: Apache-2.0
"""The difference between the clock of each service's host and that of the database."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

SECONDS = sa.Float().with_variant(mysql.DOUBLE(asdecimal=False), 'mysql', 'mariadb')

revision = '0031'
down_revision = '0030'


def upgrade() -> None:
    op.add_column('services', sa.Column('clock_ahead', SECONDS, nullable=True))
