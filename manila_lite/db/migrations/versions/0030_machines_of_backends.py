# SPDX-License-Identifier: Apache-2.0
"""Machines of backends with failover: which one serves, which ones wait, and which ones are drained."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = '0030'
down_revision = '0029'

TIME = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), 'mysql', 'mariadb')


def upgrade() -> None:
    op.create_table(
        'backend_machines',
        sa.Column('backend_host', sa.String(length=255), nullable=False),
        sa.Column('machine', sa.String(length=255), nullable=False),
        sa.Column('owner', sa.String(length=255), nullable=False),
        sa.Column('seen_at', TIME, nullable=False),
        sa.Column('expires_at', TIME, nullable=False),
        sa.Column('stage', sa.String(length=16), nullable=False),
        sa.Column('problem', sa.String(length=255), nullable=True),
        sa.Column('drained', sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.PrimaryKeyConstraint('backend_host', 'machine', name='pk_backend_machines'),
    )
