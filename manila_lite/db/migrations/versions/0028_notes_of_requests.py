# SPDX-License-Identifier: Apache-2.0
"""Notes of requests that were slow or failed, for an hour."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = '0028'
down_revision = '0027'

TIME = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), 'mysql', 'mariadb')


def upgrade() -> None:
    op.create_table(
        'request_notes',
        sa.Column('id', sa.String(length=36), nullable=False),
        sa.Column('created_at', TIME, nullable=False),
        sa.Column('api_host', sa.String(length=255), nullable=False),
        sa.Column('method', sa.String(length=16), nullable=True),
        sa.Column('path', sa.String(length=255), nullable=True),
        sa.Column('code', sa.Integer(), nullable=True),
        sa.Column('request_id', sa.String(length=255), nullable=True),
        sa.Column('project_id', sa.String(length=255), nullable=True),
        sa.Column(
            'seconds',
            sa.Float().with_variant(mysql.DOUBLE(asdecimal=False), 'mysql', 'mariadb'),
            nullable=False,
        ),
        sa.Column('requests', sa.Integer(), nullable=False),
        sa.Column('slow', sa.Integer(), nullable=False),
        sa.Column('failed', sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint('id', name='pk_request_notes'),
    )
    op.create_index('ix_request_notes_created_at', 'request_notes', ['created_at'])
