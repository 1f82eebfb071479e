# SPDX-License-Identifier: Apache-2.0
"""Answers to requests with an Idempotency-Key are kept for a while."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

TIME = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), 'mysql', 'mariadb')
TEXT = sa.Text().with_variant(mysql.MEDIUMTEXT(), 'mysql', 'mariadb')

revision = '0010'
down_revision = '0009'


def upgrade() -> None:
    op.create_table(
        'kept_answers',
        sa.Column('id', sa.String(length=64), nullable=False),
        sa.Column('created_at', TIME, nullable=False),
        sa.Column('updated_at', TIME, nullable=True),
        sa.Column('request', sa.String(length=64), nullable=False),
        sa.Column('expires_at', TIME, nullable=False),
        sa.Column('claim', sa.String(length=36), nullable=False),
        sa.Column('claimed_until', TIME, nullable=False),
        sa.Column('code', sa.Integer(), nullable=True),
        sa.Column('body', TEXT, nullable=True),
        sa.PrimaryKeyConstraint('id', name=op.f('pk_kept_answers')),
    )
    op.create_index(op.f('ix_kept_answers_expires_at'), 'kept_answers', ['expires_at'])
