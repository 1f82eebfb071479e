# SPDX-License-Identifier: Apache-2.0
"""Indexes that end with the id, so that a page of shares is read in its order, out of any number."""

from alembic import op

revision = '0005'
down_revision = '0004'


def upgrade() -> None:
    op.create_index(
        'ix_shares_project_id_created_at_id', 'shares', ['project_id', 'created_at', 'id'], unique=False
    )
    op.create_index('ix_shares_created_at_id', 'shares', ['created_at', 'id'], unique=False)
    op.drop_index('ix_shares_project_id_created_at', 'shares')
    op.drop_index('ix_shares_created_at', 'shares')
