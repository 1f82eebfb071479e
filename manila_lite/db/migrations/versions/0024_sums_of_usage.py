# SPDX-License-Identifier: Apache-2.0
"""Changes of usage, written by triggers, also for processes of the release before. Their sum is the usage of a project."""

import sqlalchemy as sa
from alembic import op

from manila_lite.db.models import quota_triggers

revision = '0024'
down_revision = '0023'


def upgrade() -> None:
    op.create_table(
        'quota_changes',
        sa.Column('id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
        sa.Column('project_id', sa.String(length=255), nullable=False),
        sa.Column('user_id', sa.String(length=255), nullable=False),
        sa.Column('resource', sa.String(length=32), nullable=False),
        sa.Column('encryption_key_ref', sa.String(length=36), nullable=False),
        sa.Column('number', sa.Integer(), nullable=False),
        sa.Column('gigabytes', sa.BigInteger(), nullable=False),
        sa.Column('growth', sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint('id', name='pk_quota_changes'),
    )
    op.create_index('ix_quota_changes_project_id', 'quota_changes', ['project_id'])
    quota_triggers.create(op.get_bind())
    quota_triggers.fill(op.get_bind())
